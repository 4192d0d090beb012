import { until } from '../../cluster/until.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import type { RawAnswer, RawSession } from '../../fixtures/raw-client.ts';
import {
  attachScript,
  type BridgeUnderTest,
  type Said,
  type ScriptedServer,
  startBridge,
} from './bridge-under-test.ts';

export interface ScriptedBridge {
  readonly clock: FrozenClock;
  readonly bridge: BridgeUnderTest;
  readonly server: ScriptedServer;
}

/** A bridge whose time stands still, and the server behind it, with which it has shaken hands. */
export const startScriptedBridge = async (): Promise<ScriptedBridge> => {
  const clock = frozenClock();
  const bridge = await startBridge(clock);
  const server = attachScript(bridge);
  await untilHandshake(bridge);
  return { clock, bridge, server };
};

export const untilHandshake = ({ multiplexer }: BridgeUnderTest): Promise<true> =>
  until('the handshake', () => Promise.resolve(multiplexer.isReady || undefined));

export interface Asked {
  readonly reply: Promise<RawAnswer>;
  /** Under which the server knows the request. */
  readonly id: number;
  readonly params: Said['params'];
}

/** Sends a request, which has come to the server when this resolves. */
export const asked = async (
  server: ScriptedServer,
  session: RawSession,
  method: string,
  params: object,
): Promise<Asked> => {
  const past = server.heard.length;
  const reply = session.request(method, params);
  const isIt = (said: Said): boolean => said.method === method && server.heard.indexOf(said) >= past;
  const { id = -1, params: relayed } = await server.hears(isIt);
  return { reply, id, params: relayed };
};

export const called = (server: ScriptedServer, session: RawSession, name: string): Promise<Asked> =>
  asked(server, session, 'tools/call', { name });

export const answer = (id: number): object => ({ jsonrpc: '2.0', id, result: {} });

export const logMessage = (level: string, data: string): object => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level, data },
});

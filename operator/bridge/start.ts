import type { Connection } from '../api/kubeconfig.ts';
import { rateLimit } from '../api/rate-limit.ts';
import { transport } from '../api/transport.ts';
import type { Clock } from '../../runtime/process/index.ts';
import { cutLog, failureLog } from '../../runtime/observe/index.ts';
import { type Attachment, attach, type ContainerAddress } from './attach.ts';
import { keepAttached } from './keep-attached.ts';
import { Multiplexer } from './multiplexer.ts';
import { runningContainer, whyNotAttached } from './own-container.ts';
import type { BridgeLog } from './run.ts';
import { serveBridge, type ServeOptions, type Serving } from './serve.ts';

export interface StartBridgeOptions extends ServeOptions {
  readonly address: ContainerAddress;
}

export interface StartBridgeDeps {
  readonly connection: Connection;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** At least 128 random bits. */
  readonly newSessionId: () => string;
  readonly newCorrelationId: () => string;
  readonly version: string;
  readonly log: BridgeLog;
}

/** What one bridge may ask of the API server, however often its container fails. */
const REQUESTS = { requestsPerSecond: 2, burst: 10 };

/** Attaches to the container whenever it runs, and serves it meanwhile. */
export const startBridge = async (
  { address, ...listening }: StartBridgeOptions,
  deps: StartBridgeDeps,
): Promise<Serving> => {
  const { connection, clock, random, log, newCorrelationId } = deps;
  const onFailure = failureLog(log, clock.now);
  const multiplexer = new Multiplexer({ ...deps, onFailure });
  const stopping = new AbortController();
  const api = transport(connection, { clock, rateLimit: rateLimit(REQUESTS, clock) });
  const attachHere = (signal: AbortSignal): Promise<Attachment> =>
    attach(address, { connection, clock, onOutput: (chunk) => multiplexer.output(chunk) }, signal).catch(
      async (error: unknown) => {
        const why = await whyNotAttached(address, api, signal);
        throw why === undefined ? error : new Error(why);
      },
    );
  const running = (signal: AbortSignal): Promise<string | undefined> => runningContainer(address, api, signal);
  // The port comes before anything that would go on by itself if it were taken.
  let attached = Promise.resolve();
  const detach = async (): Promise<void> => {
    stopping.abort(new Error('the bridge is stopping'));
    await attached;
    await connection.close();
  };
  const serving = await serveBridge(multiplexer, listening, {
    clock,
    newCorrelationId,
    onFailure,
    onCut: cutLog(log, clock.now),
    detach,
  });
  attached = keepAttached({ multiplexer, running, attach: attachHere, clock, random, log }, stopping.signal);
  return serving;
};

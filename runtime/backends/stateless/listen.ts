import type { Clock } from '../../process/index.ts';
import { smallMember } from '../../json/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import { noClient } from '../messages/call-stream.ts';
import { MODERN_HEADERS } from './stateless-client.ts';
import { ownMeta } from '../messages/request-edits.ts';
import { readServerMessage } from '../messages/server-message.ts';
import { streamEndOf, ServerStream } from '../session/server-stream.ts';

export interface ModernListening {
  readonly backend: string;
  readonly path: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** JSON text. */
  readonly clientInfo: string;
  readonly fetch: Fetch;
  /** JSON text of `params.notifications`. */
  readonly filter: string;
  readonly onListChanged?: () => void;
  /** Called before the stream is opened again: notifications meanwhile were lost. */
  readonly onGap?: () => void;
  /** Called each time the backend begins to send notifications; those before were lost. */
  readonly onBegun?: (isFirst: boolean) => void;
  /** Receives notifications of updated resources. */
  readonly notify?: (notification: Buffer) => void;
}

/** What is listened for, and who hears of it. */
export type ListeningFor = Pick<ModernListening, 'filter' | 'onListChanged' | 'onGap' | 'onBegun' | 'notify'>;

/** `none`: the backend has neither accepted nor refused, and is asked again. */
export type FirstAnswer = { readonly filter: unknown } | 'refused' | 'none';

/** A stream of `subscriptions/listen`, until `stop` is called. */
export interface ModernStream {
  /** `filter`: what the backend will send notifications of (MCP `SubscriptionFilter`) from then on. */
  readonly firstAnswer: Promise<FirstAnswer>;
  readonly stop: () => void;
}

/** `subscriptions/listen` at a backend of 2026-07-28, reopened whenever it ends. */
export const listenToModern = (listening: ModernListening): ModernStream => {
  const { backend, path, clock, random, clientInfo, fetch, filter, notify } = listening;
  const { onListChanged = () => {}, onGap = () => {}, onBegun = () => {} } = listening;
  const body = Buffer.from(
    `{"jsonrpc":"2.0","id":"vmcp-listen","method":"subscriptions/listen","params":{"_meta":${ownMeta(clientInfo)},"notifications":${filter}}}`,
  );
  const first = Promise.withResolvers<FirstAnswer>();
  let times = 0;
  const hearing: Fetch = async (request) => {
    let isFirst = true;
    const onMessage = (message: Buffer) => {
      const accepted = isFirst ? acceptedIn(message) : undefined;
      if (isFirst) first.resolve(accepted ?? 'none');
      isFirst = false;
      if (accepted) onBegun((times += 1) === 1);
      return request.onMessage(message);
    };
    try {
      const response = await fetch({ ...request, onMessage });
      first.resolve(isRefusal(response.status) ? 'refused' : 'none');
      return response;
    } finally {
      first.resolve('none');
    }
  };
  const stream = new ServerStream({
    backend,
    clock,
    random,
    request: { method: 'POST', path, headers: [...MODERN_HEADERS, 'mcp-method', 'subscriptions/listen'], body },
    fetch: hearing,
    idleTimeout: { pause: () => () => {} },
    client: { ...noClient, ...(notify && { notify }) },
    reply: () => Promise.resolve(),
    onListChanged,
    onGap,
  });
  stream.start();
  return { firstAnswer: first.promise, stop: () => stream.close() };
};

/** Whether the status means that there will be no stream. */
const isRefusal = (status: number): boolean => ['none', 'unknown'].includes(streamEndOf(status));

/** Undefined for every message but `notifications/subscriptions/acknowledged`. */
export const acceptedIn = (bytes: Buffer): { readonly filter: unknown } | undefined => {
  const message = readServerMessage(bytes);
  if (message?.kind !== 'notification' || message.method !== 'notifications/subscriptions/acknowledged')
    return undefined;
  const { params } = message;
  return { filter: params && smallMember(bytes, params.start, 'notifications') };
};

/** What a filter names under `key`. */
export const namesIn = (filter: unknown, key: 'resourceSubscriptions' | 'taskIds'): readonly string[] => {
  const names = (filter as Readonly<Record<string, unknown>> | null | undefined)?.[key];
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
};

/** JSON text of the filter for changes of all lists. */
export const ALL_LISTS = '{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}';

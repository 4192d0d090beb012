import type { Call } from '../call.ts';
import type { Fetch } from '../outgoing/index.ts';
import { legacyRequest, underId } from './request-edits.ts';
import { SessionOverError } from './session-answer.ts';
import type { BackendCall, BackendSession } from './session.ts';
import type { SubscriptionChange } from './subscriptions.ts';

export interface LegacyCallDeps {
  /** The session for this call. */
  readonly session: () => BackendSession;
  /** The session that all callers use is over. */
  readonly onOver: () => void;
  /** JSON text of an id that no other request to the backend has. */
  readonly newId: () => Buffer;
  readonly silenceMs: number;
  readonly fetch: Fetch;
}

/** A client's call at a backend of a revision before 2026-07-28. */
export const callLegacy = (call: Call, ownName: Buffer, deps: LegacyCallDeps): Promise<Buffer> => {
  const { signal, client, request } = call;
  const asked = {
    bytes: legacyRequest(call, ownName),
    id: request.id,
    silenceMs: deps.silenceMs,
    signal,
    client,
    fetch: deps.fetch,
    subscription: subscriptionOf(call, ownName),
  };
  return client.era === 'legacy' ? deps.session().request(asked) : callWithoutSession(asked, deps);
};

/** Clients without a session may choose the same ids, and come together in one session of the backend. */
const callWithoutSession = async (asked: BackendCall, { session, onOver, newId }: LegacyCallDeps): Promise<Buffer> => {
  const id = newId();
  const own = { ...asked, bytes: underId(asked.bytes, id), id };
  const answer = await session()
    .request(own)
    .catch((error: unknown) => {
      if (!(error instanceof SessionOverError)) throw error;
      onOver();
      return session().request(own);
    });
  return underId(answer, asked.id);
};

const subscriptionOf = ({ method }: Call, ownName: Buffer): SubscriptionChange | undefined => {
  if (method === 'resources/subscribe') return { kind: 'begins', uri: ownName.toString() };
  return method === 'resources/unsubscribe' ? { kind: 'ends', uri: ownName.toString() } : undefined;
};

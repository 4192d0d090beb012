import type { Call } from '../call.ts';
import { wholeOf } from '../text-pieces.ts';
import type { BackendCall } from './backend-call.ts';
import { legacyRequest, underId } from './request-edits.ts';
import { SessionOverError } from './session-answer.ts';
import type { BackendSession } from './session.ts';
import type { SubscriptionChange } from './subscriptions.ts';

/** What a client's call asks of a backend of a revision before 2026-07-28. */
export const legacyCall = (
  call: Call,
  ownName: Buffer,
  { silenceMs, fetch }: Pick<BackendCall, 'silenceMs' | 'fetch'>,
): BackendCall => ({
  bytes: legacyRequest(call, ownName),
  id: call.request.id,
  silenceMs,
  signal: call.signal,
  client: call.client,
  fetch,
  subscription: subscriptionOf(call, ownName),
});

export interface SharedSessionDeps {
  /** The session for this call. */
  readonly session: () => BackendSession;
  /** The session that all callers use is over. */
  readonly onOver: () => void;
  /** JSON text of an id that no other request to the backend has. */
  readonly newId: () => Buffer;
}

/** Clients without a session may choose the same ids, and come together in one session of the backend. */
export const callWithoutSession = async (
  asked: BackendCall,
  { session, onOver, newId }: SharedSessionDeps,
): Promise<Buffer> => {
  const id = newId();
  const own = { ...asked, bytes: underId(wholeOf(asked.bytes), id), id };
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

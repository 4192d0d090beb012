import type { Call } from '../../call/index.ts';
import { wholeOf } from '../../json/index.ts';
import type { BackendCall, SubscriptionChange } from '../messages/backend-call.ts';
import { legacyRequest, withRequestId } from '../messages/request-edits.ts';
import { SessionOverError } from './answer.ts';
import type { BackendSession } from './session.ts';

/** A client's call as a request to a backend of a revision before 2026-07-28. */
export const legacyCall = (
  call: Call,
  ownName: Buffer,
  { idleTimeoutMs, fetch }: Pick<BackendCall, 'idleTimeoutMs' | 'fetch'>,
): BackendCall => ({
  bytes: legacyRequest(call, ownName),
  id: call.request.id,
  idleTimeoutMs,
  signal: call.signal,
  client: call.client,
  fetch,
  subscription: subscriptionOf(call, ownName),
});

export interface SharedSessionDeps {
  /** The session for this call. */
  readonly session: () => BackendSession;
  /** Called when the session that all callers share is over. */
  readonly onOver: () => void;
  /** JSON text of an id that no other request to the backend has. */
  readonly newId: () => Buffer;
}

/**
 * Sends the call of a client without a session under an id of its own: several such clients share one backend session,
 * and may choose the same ids.
 */
export const callWithoutSession = async (
  asked: BackendCall,
  { session, onOver, newId }: SharedSessionDeps,
): Promise<Buffer> => {
  const id = newId();
  const own = { ...asked, bytes: withRequestId(wholeOf(asked.bytes), id), id };
  const answer = await session()
    .request(own)
    .catch((error: unknown) => {
      if (!(error instanceof SessionOverError)) throw error;
      onOver();
      return session().request(own);
    });
  return withRequestId(answer, asked.id);
};

const subscriptionOf = ({ method }: Call, ownName: Buffer): SubscriptionChange | undefined => {
  if (method === 'resources/subscribe') return { kind: 'begins', uri: ownName.toString() };
  return method === 'resources/unsubscribe' ? { kind: 'ends', uri: ownName.toString() } : undefined;
};

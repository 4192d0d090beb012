/**
 * What replicas share: values, maps, token buckets and messages with a time to live, in memory or in Redis behind one
 * interface. Everything is bounded, and what names a session is sealed. Start at `store.ts` (the contract).
 */

export {
  decodeHeldCallRequest,
  decodeHeldCallReply,
  encodeHeld,
  heldCallKey,
  heldRoundChannel,
  MAX_HELD_PAYLOAD_BYTES,
  MAX_PROGRESS_TOKEN_BYTES,
  type HeldCallRequest,
  type HeldCallReply,
} from './held-call-message.ts';
export { localBuckets } from './memory-buckets.ts';
export { openStore } from './open-store.ts';
export { Outbox } from './outbox.ts';
export { prefixed } from './prefixed.ts';
export { type ReplicaListeners, type ReplicaMessages, replicaMessages } from './replica-messages.ts';
export {
  type BackendSession,
  type ResourceSubscription,
  type SavedBackendSession,
  type SessionRecord,
} from './session-record.ts';
export { digest, keyOf, partOf, PARTS, sessionName, type SessionRef } from './session-name.ts';
export { type SessionRecords, sessionRecords } from './session-records.ts';
export {
  type Bucket,
  type Fields,
  type ReadFields,
  type QuotaGroup,
  STORE_LIMITS,
  type Store,
  type Subscription,
  type Taken,
  type TokenCount,
} from './store.ts';
export type { StoreSettings } from './store-settings.ts';

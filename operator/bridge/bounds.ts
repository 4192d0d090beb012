import { LIMITS } from '../../runtime/limits.ts';

const MIB = 1024 * 1024;

/**
 * What one bridge holds for its clients and its server at most; docs/stdio-servers.md has them for operators. The rest
 * is as for the runtime.
 */
export const BOUNDS = Object.freeze({
  ...LIMITS,
  /** One message of the server. */
  lineBytes: 16 * MIB,
  bodyBytesTogether: 32 * MIB,
  responseBytesTogether: 64 * MIB,
  /** Sent to the server and not yet taken by it. */
  waitingBytes: 16 * MIB,
  /** A session on which nothing happens. */
  sessionTtlMs: 30 * 60_000,
  /** Resources that one session subscribes to. */
  subscriptionsPerSession: 64,
  subscriptionUriBytes: 2_048,
  subscriptionBytesPerSession: 16_384,
  subscriptionBytesTogether: 16 * MIB,
  /** A call that has no answer by then never gets one. */
  callMs: 30 * 60_000,
  /** A call that its client gave up may still make the server ask something. */
  abandonedMs: 60_000,
  abandoned: 4_096,
  /** For the server to answer `initialize`. */
  handshakeMs: 60_000,
  /** A request waits so long for a server that is just being attached to. */
  attachmentMs: 5_000,
});

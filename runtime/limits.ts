const KIB = 1024;
const MIB = 1024 * KIB;

/** What one process takes from strangers and holds for them at most; docs/limits.md tells operators. */
export const LIMITS = Object.freeze({
  sessions: 10_000,
  /** Opening a session costs its client nothing; one that is not used ends soon. */
  unusedSessionMs: 60_000,
  callsPerSession: 32,
  /** Calls beyond those, which wait until one of them has ended. */
  waitingCallsPerSession: 256,
  /** Streams of clients of 2024-11-05. */
  sseConnections: 1_024,
  /** Streams of `subscriptions/listen`. */
  listeners: 4_096,
  /** Streams that one session opens with GET. */
  streamsPerSession: 4,
  /** Questions to one client that wait for its answer. */
  asksPerSession: 32,
  /** Calls of clients of 2026-07-28 that wait for what their backends have asked. */
  heldCalls: 1_024,
  /** Those of one user, or of the anonymous clients at one address. */
  heldCallsPerClient: 64,
  heldCallBytesTogether: 64 * MIB,
  /** JSON text of what a client says of itself. */
  clientCapabilitiesBytes: 4 * KIB,
  /** In `/status` and in the log, with the number of all. */
  reportedCollisions: 100,
  publicConnections: 4_096,
  /** Under way at one time, those among them whose clients have hung up. */
  requests: 2_048,
  managementConnections: 64,
  /** For a request to arrive, head and body. */
  requestMs: 30_000,
  bodyBytes: 4 * MIB,
  bodyBytesWithoutSession: 64 * KIB,
  /** The most that a route beside MCP may ask for. */
  routeBodyBytes: 64 * KIB,
  /** Of bodies and of answers: so much of each is not counted into the sums below, so that small ones pass beside many large ones. */
  uncountedBytes: 16 * KIB,
  bodyBytesTogether: 64 * MIB,
  /** Events kept for clients that lose their connection, where that is on. */
  resumableBytesTogether: 64 * MIB,
  responseBytesTogether: 128 * MIB,
  /** Where there is no room for another: a body that arrives for longer, an answer that its client has been taking for longer, gives way. */
  bodyYieldsMs: 1_000,
  answerYieldsMs: 5_000,
  /** A client that takes nothing of what waits for it so long (at most twice) is cut. */
  stallMs: 20_000,
  /** Credentials that are kept for the users of one backend. */
  credentialsPerBackend: 10_000,
  /** For each backend. */
  backend: {
    connections: 128,
    controlConnections: 8,
    streamConnections: 4_096,
    /** Resources that clients listen to there, each counted once for each user. */
    watches: 1_024,
    maxResponseBytes: 32 * MIB,
    uncountedBytes: 16 * KIB,
    connectTimeoutMs: 10_000,
  },
});

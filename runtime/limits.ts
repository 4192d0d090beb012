const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bounds of what one process accepts from clients and backends and holds for them; docs/limits.md lists them for
 * operators.
 */
export const LIMITS = Object.freeze({
  sessions: 10_000,
  /** Idle time of a session without a request since `initialize`: opening sessions costs a client nothing. */
  unusedSessionMs: 60_000,
  callsPerSession: 32,
  /** Further calls, which wait until one of those has ended. */
  waitingCallsPerSession: 256,
  /** Streams of clients of 2024-11-05. */
  sseConnections: 1_024,
  /** Streams of `subscriptions/listen`. */
  listeners: 4_096,
  /** Streams that one session opens with GET. */
  streamsPerSession: 4,
  /** Requests to one client that wait for its response. */
  clientRequestsPerSession: 32,
  /** Calls of clients of 2026-07-28 that wait for answers to their backends' questions. */
  heldCalls: 1_024,
  /** Held calls of one user, or of the anonymous clients at one address. */
  heldCallsPerClient: 64,
  heldCallBytesTogether: 64 * MIB,
  /** Calls of one workflow under way. */
  callsPerWorkflow: 32,
  /** Arguments of all calls of one workflow together. */
  workflowArgumentBytes: 64 * MIB,
  /** Results of the steps of one workflow, and of all that run. */
  workflowBytes: 16 * MIB,
  workflowBytesTogether: 128 * MIB,
  /** Workflows that run as tasks: in all, for one user, for all anonymous clients, and for those at one address. */
  workflowTasks: 1_000,
  workflowTasksPerUser: 32,
  workflowTasksAnonymous: 128,
  workflowTasksPerAddress: 64,
  /** JSON text of a client's declared capabilities. */
  clientCapabilitiesBytes: 4 * KIB,
  /** Collisions in `/status` and in the log, beside their total number. */
  reportedCollisions: 100,
  publicConnections: 4_096,
  /** Requests under way at one time, including those whose clients have hung up. */
  requests: 2_048,
  managementConnections: 64,
  /** Time for a request to arrive, head and body. */
  requestMs: 30_000,
  bodyBytes: 4 * MIB,
  bodyBytesWithoutSession: 64 * KIB,
  /** Largest `bodyLimit` of a route beside MCP. */
  routeBodyBytes: 64 * KIB,
  /**
   * Bodies and answers up to this size are not counted in the sums below, so that small ones pass beside many large
   * ones.
   */
  uncountedBytes: 16 * KIB,
  bodyBytesTogether: 64 * MIB,
  /** Events kept for clients that lose their connection, where streams can be resumed. */
  resumableBytesTogether: 64 * MIB,
  responseBytesTogether: 128 * MIB,
  /**
   * When another body or answer needs the room: a body that takes longer than this to arrive, or an answer that its
   * client takes longer to read, is cut off.
   */
  bodyYieldsMs: 1_000,
  answerYieldsMs: 5_000,
  /** A client that reads no byte of its answer for this long (at most twice as long) is cut off. */
  stallMs: 20_000,
  /** Outcomes of checks of tokens that are kept: of valid ones, and as many of refused ones. */
  tokens: { count: 20_000, bytes: 64 * MIB },
  /** Refused tokens of one client address, beyond which those that are not known have to wait. */
  refusedTokens: { burst: 1_000, refillMs: 60_000, addresses: 8_192 },
  /** Calls to one backend under way: a quarter of `requests`, so that a slow one leaves room for the others. */
  callsPerBackend: 512,
  /** Credentials cached for the users of one backend. */
  credentialsPerBackend: 10_000,
  /** Limits of each backend. */
  backend: {
    connections: 128,
    controlConnections: 8,
    streamConnections: 4_096,
    /** Resources that clients watch at the backend, each counted once for each user. */
    watches: 1_024,
    maxResponseBytes: 32 * MIB,
    /** Bytes of calls under way, and of answers that arrive: half of what all together may take. */
    requestBytesTogether: 32 * MIB,
    responseBytesTogether: 64 * MIB,
    uncountedBytes: 16 * KIB,
    connectTimeoutMs: 10_000,
  },
});

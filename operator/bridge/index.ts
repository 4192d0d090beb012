/*
 * The process beside a stdio server: it attaches to the container through the API server and serves many HTTP clients.
 * Clients share one run of the server's program; each gets the answers and notifications that are its own. When the
 * program ends, the sessions end with it. Every queue and every message has a bound (bounds.ts).
 * Start with start.ts, which joins attach.ts (the container), multiplexer.ts (the sharing) and serve.ts (HTTP).
 */

export { attach, type AttachDeps, type Attachment, type ContainerAddress, type Ended } from './attach.ts';
export { BOUNDS } from './bounds.ts';
export { keepAttached, type KeepAttachedDeps } from './keep-attached.ts';
export { Multiplexer, type MultiplexerDeps } from './multiplexer.ts';
export { BRIDGE_USAGE, bridgeOptions, type BridgeOptions } from './options.ts';
export { serveBridge, type ServeDeps, type ServeOptions, type Serving } from './serve.ts';
export type { Link } from './server-process.ts';
export { startBridge, type StartBridgeDeps, type StartBridgeOptions } from './start.ts';

export { attach, type AttachDeps, type Attachment, type ContainerAddress, type Ended } from './attach.ts';
export { BOUNDS } from './bounds.ts';
export { keepAttached, type KeepAttachedDeps } from './keep-attached.ts';
export { Multiplexer, type MultiplexerDeps } from './multiplexer.ts';
export { BRIDGE_USAGE, bridgeOptions, type BridgeOptions } from './options.ts';
export { serveBridge, type ServeDeps, type ServeOptions, type Serving } from './serve.ts';
export type { Link } from './server-process.ts';
export { startBridge, type StartBridgeDeps, type StartBridgeOptions } from './start.ts';

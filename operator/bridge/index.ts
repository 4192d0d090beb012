export { BOUNDS } from './bounds.ts';
export { Multiplexer, type MultiplexerDeps } from './multiplexer.ts';
export type { Link } from './server-process.ts';
export { serveBridge, type ServeDeps, type ServeOptions, type Serving } from './serve.ts';

import { limited } from '../plan/fronted-server-objects.ts';

/** Every shape that an MCPServer can have. */
export const SHAPES: Readonly<Record<string, object>> = {
  'direct http': { transport: 'streamable-http' },
  'direct sse': { transport: 'sse' },
  'direct stdio': { transport: 'stdio' },
  'fronted http': { transport: 'streamable-http', ...limited },
  'fronted sse': { transport: 'sse', ...limited },
  'fronted stdio': { transport: 'stdio', ...limited },
};

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';

/** A web server of pages, which browsers find under any name that ends in `.localhost` (RFC 6761 §6.3). */
export interface WebPages {
  readonly originOf: (name: string) => string;
  readonly close: () => Promise<void>;
}

/** Every page is empty, but for `/application`, which runs `web-application.ts`. */
export const serveWebPages = async (): Promise<WebPages> => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'web-application.ts')],
    bundle: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    logLevel: 'silent',
  });
  const program = outputFiles[0]?.contents;
  const server = createServer(({ url = '' }, response) => {
    const isProgram = url === '/application.js';
    const script = url.startsWith('/application') ? '<script type="module" src="/application.js"></script>' : '';
    response.writeHead(200, { 'content-type': isProgram ? 'text/javascript' : 'text/html' });
    response.end(isProgram ? program : `<!doctype html><title>page</title><body>${script}</body>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    originOf: (name) => `http://${name}.localhost:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

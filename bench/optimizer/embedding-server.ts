import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { subwordVector } from './subword-vectors.ts';

/** An embedding service with the stand-in of `subword-vectors.ts` as its model. */
export interface EmbeddingServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const MAX_BATCH = 32;

/** Speaks the protocols of text-embeddings-inference (`/info`, `/embed`) and of OpenAI (`/v1/embeddings`). */
export const startEmbeddingServer = async (): Promise<EmbeddingServer> => {
  const server = createServer((request, response) => {
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/info') return reply(200, { model_id: 'subwords', max_client_batch_size: MAX_BATCH });
      const { inputs, input } = JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>;
      const vectors = [inputs ?? input].flat().map((text) => subwordVector(String(text)));
      if (vectors.length > MAX_BATCH) return reply(422, { error: `more than ${MAX_BATCH} texts` });
      if (request.url === '/embed') return reply(200, vectors);
      if (request.url !== '/v1/embeddings') return reply(404, {});
      reply(200, { model: 'subwords', data: vectors.map((embedding, index) => ({ index, embedding })) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

/** Vectors of the texts, in batches, by way of `/embed`. */
export const embed = async (url: string, texts: readonly string[]): Promise<readonly Float32Array[]> => {
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += MAX_BATCH) {
    const body = JSON.stringify({ inputs: texts.slice(at, at + MAX_BATCH), truncate: true });
    const response = await fetch(`${url}/embed`, { method: 'POST', body });
    if (!response.ok) throw new Error(`the embedding server answered ${response.status}`);
    vectors.push(...((await response.json()) as number[][]).map((vector) => new Float32Array(vector)));
  }
  return vectors;
};

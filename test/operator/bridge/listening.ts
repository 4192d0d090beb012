import { request as httpRequest } from 'node:http';
import { until } from '../../cluster/until.ts';

export interface Listening {
  /** Every message so far. */
  readonly heard: () => readonly unknown[];
  /** What came before this message does. */
  readonly before: (fence: object) => Promise<readonly unknown[]>;
  readonly end: () => void;
}

/** A stream of a session's own, for what is about no call. */
export const listen = async (url: string, session: string): Promise<Listening> => {
  let text = '';
  const opened = Promise.withResolvers<void>();
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session };
  const stream = httpRequest(url, { headers }, (response) => {
    response.on('data', (chunk: Buffer) => void (text += chunk.toString())).on('error', () => {});
    opened.resolve();
  });
  stream.on('error', () => {});
  stream.end();
  await opened.promise;
  const heard = (): readonly unknown[] =>
    [...text.matchAll(/^data: (.+)\n\n/gm)].map(([, message = '']) => JSON.parse(message) as unknown);
  const before = async (fence: object): Promise<readonly unknown[]> => {
    const wanted = JSON.stringify(fence);
    const found = await until('the message', () => {
      const all = heard();
      const at = all.findIndex((message) => JSON.stringify(message) === wanted);
      return Promise.resolve(at < 0 ? undefined : all.slice(0, at));
    });
    return found;
  };
  return { heard, before, end: () => void stream.destroy() };
};

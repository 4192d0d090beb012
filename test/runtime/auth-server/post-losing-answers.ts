import { request } from 'node:http';

export interface Posted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Undefined: the connection broke, or, of an answer that is to be lost, was closed soon after the request was sent. */
export const postLosingAnswers = (
  { url, headers, body, timeoutMs }: Posted,
  isAnswerLost: boolean,
): Promise<Answer | undefined> =>
  new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent: false, timeout: timeoutMs, headers });
    sent.on('error', () => resolve(undefined));
    sent.on('timeout', () => sent.destroy());
    sent.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => void pieces.push(piece));
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }));
    });
    sent.end(body, () => {
      if (isAnswerLost) setTimeout(() => sent.destroy(new Error('lost')), Math.random() * 10);
    });
  });

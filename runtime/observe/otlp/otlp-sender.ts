import type { FetchResponse, GuardedFetch } from '../../http/index.ts';
import type { ReadSecret } from '../../process/index.ts';

export type Signal = 'traces' | 'metrics';

export interface OtlpSettings {
  /** The address below which `/v1/traces` and `/v1/metrics` are; without a slash at the end. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Files that hold values of headers. */
  readonly headerFiles: Readonly<Record<string, string>>;
}

export interface OtlpSenderDeps {
  readonly fetch: GuardedFetch;
  readonly readSecret: ReadSecret;
}

/** Sends one export (protobuf). Throws ExportError, and what `fetch` throws. */
export type SendOtlp = (signal: Signal, body: Uint8Array) => Promise<Buffer>;

/** The collector did not take an export. */
export class ExportError extends Error {
  override readonly name = 'ExportError';
  readonly mayBeRepeated: boolean;
  /** How long the collector wants to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, how: { readonly mayBeRepeated: boolean; readonly retryAfterMs?: number | undefined }) {
    super(message);
    this.mayBeRepeated = how.mayBeRepeated;
    this.retryAfterMs = how.retryAfterMs;
  }
}

/** OTLP/HTTP with protobuf. Headers from files are read for every export, so that they can rotate. */
export const otlpSender =
  ({ base, headers, headerFiles }: OtlpSettings, { fetch, readSecret }: OtlpSenderDeps): SendOtlp =>
  async (signal, body) => {
    const secrets = await Promise.all(
      Object.entries(headerFiles).map(async ([name, file]) => {
        const value = await readSecret({ file });
        if (value === undefined)
          throw new ExportError(`the value of header ${name} is missing`, { mayBeRepeated: true });
        return [name.toLowerCase(), value] as const;
      }),
    );
    const response = await fetch({
      url: `${base}/v1/${signal}`,
      method: 'POST',
      headers: { ...lowerCased(headers), ...Object.fromEntries(secrets), 'content-type': 'application/x-protobuf' },
      body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    });
    if (response.status < 200 || response.status > 299) throw refusalOf(response);
    return response.body;
  };

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** OTLP Specification, "Failures": only these may be sent again. */
const REPEATABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const refusalOf = ({ status, headers }: FetchResponse): ExportError => {
  const seconds = Number(headers['retry-after']);
  return new ExportError(`the collector answered with status ${status}`, {
    mayBeRepeated: REPEATABLE.has(status),
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
  });
};

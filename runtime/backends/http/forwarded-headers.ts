import { HEADER_VALUE } from '../../config/index.ts';
import { VmcpError } from '../../errors.ts';
import type { BackendRequest, Fetch } from '../../outgoing/index.ts';
import { secretReader } from '../../process/index.ts';

/** `headerForward` of docs/configuration.md "backends": values, and files that hold values, by header name. */
export interface HeaderForward {
  readonly plaintext?: Readonly<Record<string, string>> | undefined;
  readonly secretFiles?: Readonly<Record<string, string>> | undefined;
}

interface ForwardingBackend {
  readonly name: string;
  readonly headerForward?: HeaderForward | undefined;
}

interface ForwardingDeps {
  readonly readFile: (path: string) => Promise<string>;
}

/** Wraps a fetch so that every request carries the headers of the configuration. */
export type AddForwarded = (next: Fetch) => Fetch;

/**
 * The headers that every request to this backend carries, also the gateway's own; undefined where there are none. Files
 * are read for each request, so that a Secret can rotate. Where one has no value, nothing is sent: the backend might
 * take the request for another one than it is. A strategy runs after it: the header that both set has the strategy's
 * value, and a signature covers what is sent.
 */
export const forwardedHeaders = (
  backend: ForwardingBackend,
  { readFile }: ForwardingDeps,
): AddForwarded | undefined => {
  const { plaintext = {}, secretFiles = {} } = backend.headerForward ?? {};
  const literal = Object.entries(plaintext).flat();
  const files = Object.entries(secretFiles);
  if (literal.length === 0 && files.length === 0) return undefined;
  const readSecret = secretReader({ readFile, environment: () => undefined });
  const valueOf = async ([header, file]: readonly [string, string]): Promise<readonly string[]> => {
    const value = await readSecret({ file }).catch((cause: unknown) => {
      throw noValue(backend.name, header, { why: 'cannot be read', cause });
    });
    if (value === undefined) throw noValue(backend.name, header, { why: 'is missing or empty' });
    if (!HEADER_VALUE.test(value)) throw noValue(backend.name, header, { why: 'has characters that no header has' });
    return [header, value];
  };
  const fixed = (next: Fetch, request: BackendRequest, more: readonly string[]) =>
    next({ ...request, headers: [...request.headers, ...more] });
  if (files.length === 0) return (next) => (request) => fixed(next, request, literal);
  return (next) => async (request) => {
    const secret = await Promise.all(files.map(valueOf));
    return fixed(next, request, [...literal, ...secret.flat()]);
  };
};

/** Names the header, never its value. */
const noValue = (
  backend: string,
  header: string,
  { why, cause }: { readonly why: string; readonly cause?: unknown },
): VmcpError =>
  new VmcpError(
    'credential_unavailable',
    `no credential for backend "${backend}" is to be had: the secret of header ${header} ${why}`,
    cause === undefined ? {} : { cause },
  );

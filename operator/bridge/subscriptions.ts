import { VmcpError } from '../../runtime/errors.ts';
import { BOUNDS } from './bounds.ts';

/** The resources that one client wants to hear of. */
export class Subscriptions implements Iterable<string> {
  readonly #uris = new Set<string>();
  #bytes = 0;

  /** What it holds of the memory. */
  get bytes(): number {
    return this.#bytes;
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }

  /** False when it was there already. Throws `invalid_params` and `busy` when it would hold too much. */
  add(uri: string): boolean {
    if (this.#uris.has(uri)) return false;
    const bytes = Buffer.byteLength(uri);
    if (bytes > BOUNDS.subscriptionUriBytes)
      throw new VmcpError('invalid_params', `params.uri is longer than ${BOUNDS.subscriptionUriBytes} bytes`);
    if (this.#uris.size >= BOUNDS.subscriptionsPerSession || this.#bytes + bytes > BOUNDS.subscriptionBytesPerSession)
      throw new VmcpError('busy', 'too many subscriptions; end one');
    this.#uris.add(uri);
    this.#bytes += bytes;
    return true;
  }

  delete(uri: string): void {
    if (this.#uris.delete(uri)) this.#bytes -= Buffer.byteLength(uri);
  }

  /** MCP "Resource Updated": the updated resource may be a sub-resource of the one that was subscribed to. */
  isAbout(uri: string): boolean {
    return this.#uris.has(uri) || [...this.#uris].some((whole) => isWithin(whole, uri));
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#uris.values();
  }
}

/** What names a scheme and nothing of it is no resource that others could be parts of. */
const SCHEME_ONLY = /^[^:]*:?\/*$/;

const isWithin = (whole: string, uri: string): boolean => {
  if (!uri.startsWith(whole) || SCHEME_ONLY.test(whole)) return false;
  return whole.endsWith('/') || BOUNDARIES.has(uri.charAt(whole.length));
};

/** Where the parts of a resource begin in a URI: its path, its query, its fragment. */
const BOUNDARIES: ReadonlySet<string> = new Set(['/', '?', '#']);

import type { IncomingHttpHeaders } from 'node:http';

/** The client that asks for a list, by what it says of itself: nothing that gives it a right. */
export interface ListingClient {
  /** `clientInfo.name`. */
  readonly name: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const LONGEST_NAME = 200;

/** The name in a client's `clientInfo`; undefined where there is none that a configuration could name. */
export const clientNameIn = (clientInfo: unknown): string | undefined => {
  if (typeof clientInfo !== 'object' || clientInfo === null || !('name' in clientInfo)) return undefined;
  const { name } = clientInfo;
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME ? name : undefined;
};

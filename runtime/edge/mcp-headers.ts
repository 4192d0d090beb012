import type { IncomingHttpHeaders } from 'node:http';
import { VmcpError } from '../errors.ts';
import { decodedHeader } from '../mcp/index.ts';

/** MCP 2026-07-28, "Standard Request Headers": what the headers must repeat of the body. */
export interface NamedInBody {
  readonly revision: string;
  readonly method: string;
  /** A tool, a prompt or a URI, for the methods that have a `Mcp-Name`. */
  readonly name: string | undefined;
}

/** Deviations of the headers that are accepted. */
export interface HeaderTolerance {
  /** A client of a newer revision may send `MCP-Protocol-Version` of an older one, as some do. */
  readonly olderRevision: boolean;
  /** A header may be left out; one that is there must still say what the body says. */
  readonly mayBeAbsent: boolean;
}

/**
 * Throws `header_mismatch`. We judge by the body alone; proxies on the way that judge by the headers must have seen the
 * same.
 */
export const checkMcpHeaders = (headers: IncomingHttpHeaders, body: NamedInBody, tolerance: HeaderTolerance): void => {
  const revision = headers['mcp-protocol-version'];
  const isTolerated = tolerance.olderRevision && typeof revision === 'string' && revision < body.revision;
  const { mayBeAbsent } = tolerance;
  if (!isTolerated) demand('MCP-Protocol-Version', { value: revision, mayBeAbsent }, body.revision);
  demand('Mcp-Method', { value: headers['mcp-method'], mayBeAbsent }, body.method);
  if (body.name !== undefined)
    demand('Mcp-Name', { value: decodedHeader(headers['mcp-name']), mayBeAbsent }, body.name);
};

interface Header {
  readonly value: string | string[] | undefined;
  /** As in `HeaderTolerance`. */
  readonly mayBeAbsent: boolean;
}

const demand = (header: string, { value, mayBeAbsent }: Header, wanted: string): void => {
  if (value === wanted || (value === undefined && mayBeAbsent)) return;
  const what = value === undefined ? 'is missing' : 'does not match the body';
  throw new VmcpError('header_mismatch', `the header ${header} ${what}`);
};

import type { IncomingHttpHeaders } from 'node:http';

/** What an answer needs so that a web page of this allowed origin may read it: names and values in turn. */
export const addCorsHeaders = (headers: string[], origin: string): void => {
  headers.push(
    'access-control-allow-origin',
    origin,
    'vary',
    'Origin',
    'access-control-expose-headers',
    'Mcp-Session-Id, WWW-Authenticate, Retry-After',
  );
};

const ALLOWED_HEADERS =
  'accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id';

/**
 * Fetch standard, "CORS-preflight": what a web page may send; no headers where the request has no Origin. The names of
 * `Mcp-Param-*` are those of a tool's own arguments.
 */
export const preflightHeaders = (
  { origin, 'access-control-request-headers': asked = '' }: IncomingHttpHeaders,
  methods: string,
): readonly string[] => {
  if (origin === undefined) return [];
  const names = asked.toLowerCase().split(/[\t ]*,[\t ]*/);
  const repeated = names.filter((name) => REPEATED.test(name)).slice(0, MAX_REPEATED);
  return [
    'access-control-allow-methods',
    methods,
    'access-control-allow-headers',
    [ALLOWED_HEADERS, ...repeated].join(', '),
    'access-control-max-age',
    '86400',
  ];
};

/** A token (RFC 9110 §5.6.2) is what a tool may ask for. */
const REPEATED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/;

/** Arguments of one tool that are repeated in headers (docs/limits.md). */
const MAX_REPEATED = 32;

import * as z from 'zod';

/** RFC 9110 §5.6.2 */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** RFC 9110 §5.5: no line breaks, by which a value would add headers of its own. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * What the connection (RFC 9110 §7.6.1), proxies (§11.7), the transport of MCP, tracing (W3C Trace Context, W3C
 * Baggage) and the way between two runtimes (docs/outgoing-auth-kubernetes.md "Through a proxy") set themselves.
 */
const RESERVED: ReadonlySet<string> = new Set([
  // No YAML map can hold it.
  '__proto__',
  'accept',
  'accept-encoding',
  'baggage',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vmcp-relayed-authorization',
]);

/** Headers that repeat arguments of a call (MCP 2026-07-28). */
const RESERVED_PREFIX = 'mcp-param-';

/** Why no configuration may add this header to requests; undefined where it may. */
export const headerNameProblem = (name: string): { readonly reason: string; readonly remedy: string } | undefined => {
  if (!HEADER_NAME.test(name))
    return { reason: `${JSON.stringify(name)} is no header name`, remedy: 'use letters, digits and hyphens' };
  return reservedHeaderProblem(name);
};

/** As `headerNameProblem`, for what is a header name. */
export const reservedHeaderProblem = (
  name: string,
): { readonly reason: string; readonly remedy: string } | undefined => {
  const key = name.toLowerCase();
  return RESERVED.has(key) || key.startsWith(RESERVED_PREFIX)
    ? { reason: `${name} belongs to the connection or to MCP`, remedy: 'use another header' }
    : undefined;
};

/** The name of a header; `headerNameProblem` also knows those that are reserved. */
export const headerNameSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(HEADER_NAME, { error: 'not a header name; use letters, digits and hyphens' });

/** The value of a header. */
export const headerValueSchema = z
  .string()
  .min(1)
  .max(16_384)
  .regex(HEADER_VALUE, { error: 'not a header value; write it in printable characters, on one line' });

/**
 * Methods whose requests repeat their name or URI in `Mcp-Name` (MCP 2026-07-28 "Standard Request Headers", Tasks
 * "Routing Headers").
 */
export const METHODS_WITH_NAME: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
]);

/** MCP 2026-07-28, "Value Encoding": text that no header can hold unchanged is encoded as marked Base64. */
export const encodedHeader = (text: string): string =>
  PLAIN.test(text) && !MARKED.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Visible ASCII, with blanks inside only. */
const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
const MARKED = /^=\?base64\?.*\?=$/;

const ENCODED = /^=\?base64\?(.*)\?=$/;

/**
 * Decodes a header made by `encodedHeader`; undefined when the header is absent, repeated, or marked but not Base64.
 */
export const decodedHeader = (value: string | string[] | undefined): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const text = ENCODED.exec(value)?.[1];
  if (text === undefined) return value.trim();
  const bytes = Buffer.from(text, 'base64');
  // Node accepts sloppy Base64, which proxies on the way may read differently.
  return bytes.toString('base64') === text ? bytes.toString() : undefined;
};

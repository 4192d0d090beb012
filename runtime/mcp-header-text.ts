/** Methods whose requests repeat in `Mcp-Name` what they name (MCP 2026-07-28 "Standard Request Headers", Tasks "Routing Headers"). */
export const METHODS_WITH_NAME: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
]);

/** MCP 2026-07-28, "Value Encoding": what cannot stand in a header as it is goes in Base64, marked as such. */
export const encodedHeader = (text: string): string =>
  PLAIN.test(text) && !MARKED.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Visible ASCII, with blanks inside only. */
const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
const MARKED = /^=\?base64\?.*\?=$/;

const ENCODED = /^=\?base64\?(.*)\?=$/;

/** What `encodedHeader` made; undefined when there is no such header, more than one, or one that is marked but not Base64. */
export const decodedHeader = (value: string | string[] | undefined): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const text = ENCODED.exec(value)?.[1];
  if (text === undefined) return value.trim();
  const bytes = Buffer.from(text, 'base64');
  // Node reads whatever looks like Base64; others on the way may not.
  return bytes.toString('base64') === text ? bytes.toString() : undefined;
};

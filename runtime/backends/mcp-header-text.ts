/** MCP 2026-07-28, "Value Encoding": what cannot stand in a header as it is goes in Base64, marked as such. */
export const encodedHeader = (text: string): string =>
  PLAIN.test(text) && !MARKED.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Visible ASCII, with blanks inside only. */
const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
const MARKED = /^=\?base64\?.*\?=$/;

/**
 * One text per JSON-RPC id (JSON text, a string or a number), however it is spelt: `1` and `1.0`, `"a"` and `"\u0061"`
 * are the same. Whole numbers keep all their digits.
 */
export const requestKey = (id: Buffer): string => {
  const text = id.toString();
  const isPlain = text.startsWith('"') ? !text.includes('\\') : /^-?\d+$/.test(text);
  return isPlain ? text : JSON.stringify(JSON.parse(text));
};

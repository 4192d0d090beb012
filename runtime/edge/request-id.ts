/**
 * One text per JSON-RPC id (JSON text, a string or a number), however it is spelt: `1` and `1.0`, `"a"` and `"\u0061"` are the same.
 * Whole numbers keep all their digits.
 */
export const requestKey = (id: Buffer): string => {
  const text = id.toString();
  const isPlain = id[0] === QUOTE ? !text.includes('\\') : isWhole(id);
  return isPlain ? text : JSON.stringify(JSON.parse(text));
};

const QUOTE = 0x22;
const MINUS = 0x2d;

const isWhole = (id: Buffer): boolean => {
  const start = id[0] === MINUS ? 1 : 0;
  for (let i = start; i < id.length; i += 1) if (!isDigit(id[i] ?? 0)) return false;
  return id.length > start;
};

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

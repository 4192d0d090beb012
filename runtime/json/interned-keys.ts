/**
 * Texts that occur in every call: members of MCP messages and a method, indexed by a number that is unique among them.
 */
const usual: (Buffer | undefined)[] = [];
const texts: string[] = [];

const numberOf = (length: number, first: number, last: number): number => (length + first + 2 * last) & 63;

for (const text of [
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  'name',
  'arguments',
  '_meta',
  'tools/call',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/clientInfo',
]) {
  const bytes = Buffer.from(text);
  const place = numberOf(bytes.length, bytes[0] ?? 0, bytes.at(-1) ?? 0);
  usual[place] = bytes;
  texts[place] = text;
}

/**
 * The string from its opening quote at `start` to `end`, behind the closing one, if it is one of these texts; else
 * undefined. Allocates no string.
 */
export const internedKey = (bytes: Buffer, start: number, end: number): string | undefined => {
  const length = end - start - 2;
  const place = numberOf(length, bytes[start + 1] ?? 0, bytes[end - 2] ?? 0);
  const known = usual[place];
  if (known?.length !== length) return undefined;
  for (let i = 0; i < length; i += 1) if (bytes[start + 1 + i] !== known[i]) return undefined;
  return texts[place];
};

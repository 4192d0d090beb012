import { argumentsOf, type BackendTarget, type Call } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { type ListedItem, decodedHeader, encodedHeader } from '../../mcp/index.ts';

/** An argument that a tool wants repeated in a header: its path in the arguments, and the header. */
interface ParamHeader {
  readonly path: readonly string[];
  readonly header: string;
}

/** Parsed once for each listed tool. */
const known = new WeakMap<ListedItem, readonly ParamHeader[]>();

type Arguments = () => Buffer | undefined;

/**
 * `Mcp-Param-*` for a call of this tool, names and values in turn (MCP 2026-07-28, "Custom Headers from Tool
 * Parameters").
 */
export const paramHeaders = (tool: ListedItem, argumentsText: Arguments): readonly string[] =>
  repeated(tool, argumentsText).flatMap(({ header, value }) =>
    value === undefined ? [] : [header, encodedHeader(value)],
  );

/**
 * Throws `header_mismatch` when a client's `Mcp-Param-*` are not what its arguments say: proxies on the way may have
 * judged the call by them.
 */
export const checkParamHeaders = ({ method, headers, request }: Call, { listed }: BackendTarget): void => {
  if (!headers || method !== 'tools/call' || !listed) return;
  for (const { header, value } of repeated(listed, () => argumentsOf(request))) {
    if (decodedHeader(headers[header]) !== value)
      throw new VmcpError('header_mismatch', `the header ${header} does not match the arguments`);
  }
};

/** Each header that the tool wants, and the argument in it; undefined when the call has none. */
const repeated = (
  tool: ListedItem,
  argumentsText: Arguments,
): readonly { readonly header: string; readonly value: string | undefined }[] => {
  let wanted = known.get(tool);
  if (!wanted) known.set(tool, (wanted = annotated(tool)));
  if (wanted.length === 0) return [];
  const text = argumentsText();
  const values: unknown = text ? JSON.parse(text.toString()) : {};
  return wanted.map(({ path, header }) => {
    const value = path.reduce<unknown>(
      (at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined),
      values,
    );
    const isPrimitive = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return { header: `mcp-param-${header.toLowerCase()}`, value: isPrimitive ? String(value) : undefined };
  });
};

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const MAX_HEADERS = 32;

const annotated = (tool: ListedItem): readonly ParamHeader[] => {
  const found: ParamHeader[] = [];
  const { inputSchema } = JSON.parse(tool.bytes.toString()) as { inputSchema?: unknown };
  const visit = (schema: unknown, path: readonly string[]): void => {
    if (!isRecord(schema) || found.length >= MAX_HEADERS || path.length > 8) return;
    const header = schema['x-mcp-header'];
    if (path.length > 0 && typeof header === 'string' && TOKEN.test(header)) found.push({ path, header });
    const { properties } = schema;
    if (isRecord(properties)) for (const [key, inner] of Object.entries(properties)) visit(inner, [...path, key]);
  };
  if (tool.bytes.includes('x-mcp-header')) visit(inputSchema, []);
  return found;
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

import { createHash } from 'node:crypto';

/** What the search reads of a tool. */
export interface SearchableTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
  /** The backend that offers the tool. */
  readonly server?: string;
}

/** The texts of a tool by their place; places differ in how much a word in them says about the tool. */
export interface ToolText {
  readonly name: string;
  readonly title: string;
  /** First sentence of the description. */
  readonly summary: string;
  readonly description: string;
  readonly parameterNames: string;
  readonly parameterDescriptions: string;
  readonly server: string;
}

/** Characters of one text that are read; tools come from backends, which may send megabytes. */
const MAX_TEXT = 8_000;
const MAX_PARAMETERS = 200;
const MAX_DEPTH = 4;
/** Characters of a text that is embedded: embedding models read about 512 tokens. */
const MAX_EMBEDDED = 2_000;

/** Equal for tools that the search cannot tell apart, whoever sees them: 128 bits of SHA-256 in base64url. */
export const contentHashOf = ({ name, title, description, inputSchema, server }: SearchableTool): string =>
  createHash('sha256')
    .update(JSON.stringify([name, title ?? '', description ?? '', inputSchema ?? null, server ?? '']))
    .digest('base64url')
    .slice(0, 22);

/** The texts of a tool, each bounded. */
export const textOf = (tool: SearchableTool): ToolText => {
  const parameters = parametersOf(tool.inputSchema);
  const description = (tool.description ?? '').slice(0, MAX_TEXT);
  const summary = SUMMARY.exec(description)?.[0] ?? description;
  return {
    name: ownNameOf(tool).slice(0, MAX_TEXT),
    title: (tool.title ?? '').slice(0, MAX_TEXT),
    summary,
    description: description.slice(summary.length),
    parameterNames: parameters.names.join(' ').slice(0, MAX_TEXT),
    parameterDescriptions: parameters.descriptions.join('\n').slice(0, MAX_TEXT),
    server: (tool.server ?? '').slice(0, MAX_TEXT),
  };
};

/** Up to the first end of a sentence, or an empty line. */
const SUMMARY = /^[^]{20,300}?(?=[.!?。:]\s|\n\s*\n|。)/;

/** A name without the server in front of it, which all tools of the server have. */
const ownNameOf = ({ name, server = '' }: SearchableTool): string => {
  const rest = name.slice(server.length);
  return server !== '' && name.startsWith(server) && /^[_.\-/][^]/.test(rest) ? rest.slice(1) : name;
};

/** What an embedding model is given of a tool. */
export const embeddingTextOf = (tool: SearchableTool): string => {
  const { title, summary, description, parameterNames, server } = textOf(tool);
  const lines = [title === '' ? tool.name : `${tool.name}: ${title}`, summary + description];
  if (server !== '') lines.push(`server: ${server}`);
  if (parameterNames !== '') lines.push(`parameters: ${parameterNames}`);
  return lines.join('\n').slice(0, MAX_EMBEDDED);
};

interface Parameters {
  readonly names: string[];
  readonly descriptions: string[];
}

const parametersOf = (schema: unknown): Parameters => {
  const found: Parameters = { names: [], descriptions: [] };
  collect(schema, found, 0);
  return found;
};

/** Properties of objects, those inside of lists and of alternatives included. */
const collect = (schema: unknown, into: Parameters, depth: number): void => {
  if (!isObject(schema) || depth > MAX_DEPTH) return;
  if (isObject(schema['properties'])) {
    for (const [name, property] of Object.entries(schema['properties'])) {
      if (into.names.length >= MAX_PARAMETERS) return;
      into.names.push(name);
      if (isObject(property)) describe(property, into);
      collect(property, into, depth + 1);
    }
  }
  collect(schema['items'], into, depth + 1);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const alternatives = schema[keyword];
    if (Array.isArray(alternatives)) for (const alternative of alternatives) collect(alternative, into, depth + 1);
  }
};

const describe = ({ description, enum: values }: Readonly<Record<string, unknown>>, into: Parameters): void => {
  if (typeof description === 'string') into.descriptions.push(description);
  if (Array.isArray(values)) into.descriptions.push(values.filter((value) => typeof value === 'string').join(' '));
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

import { API_VERSION, objectSchema } from './crd.ts';
import type { KindDefinition } from './kind.ts';
import { kinds } from './kinds.ts';
import type { SchemaNode } from './structural.ts';

/** Every field of every kind as Markdown, made from the schemas; `docs/resources.md` holds it. */
export const resourceReference = (): string => Object.values(kinds).map(sectionOf).join('\n');

/** Parts described elsewhere: path → where. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'VirtualMCPServer spec.config': 'The keys of [configuration.md](configuration.md), those marked "file only" aside.',
  'VirtualMCPServer spec.authServerConfig':
    'The same fields as `spec.embeddedAuthServer` of [MCPExternalAuthConfig](#mcpexternalauthconfig).',
};

interface Row {
  readonly path: string;
  readonly node: SchemaNode;
  readonly isRequired: boolean;
}

function sectionOf(definition: KindDefinition): string {
  const { kind, description, shortNames, nameMaxLength } = definition;
  const { properties = {} } = objectSchema(definition);
  const rows = ['spec', 'status'].map((part) =>
    rowsOf(kind, { path: part, node: properties[part] ?? {}, isRequired: false }),
  );
  const [spec = [], status = []] = rows;
  return [
    `## ${kind}\n`,
    `${description} \`apiVersion: ${API_VERSION}\`; short names ${shortNames.map((name) => `\`${name}\``).join(', ')}; names of at most ${nameMaxLength} characters.\n`,
    '| field | type | default and limits | meaning |',
    '|---|---|---|---|',
    ...spec.slice(1).map(lineOf),
    ...rulesText([...spec]),
    '\nStatus:\n',
    '| field | type | default and limits | meaning |',
    '|---|---|---|---|',
    ...status.slice(1).map(lineOf),
    '',
  ].join('\n');
}

function rowsOf(kind: string, row: Row): readonly Row[] {
  const { path, node } = row;
  if (ELSEWHERE[`${kind} ${path}`] !== undefined) {
    const { properties: _, ...rest } = node;
    return [{ ...row, node: { ...rest, description: `${node.description ?? ''} ${ELSEWHERE[`${kind} ${path}`]}` } }];
  }
  const { properties = {}, required = [], additionalProperties, items } = node;
  const fields = Object.entries(properties).flatMap(([name, child]) =>
    rowsOf(kind, { path: `${path}.${name}`, node: child, isRequired: required.includes(name) }),
  );
  return [row, ...fields, ...partsOf(kind, `${path}[]`, items), ...partsOf(kind, `${path}.*`, additionalProperties)];
}

/** Items of a list or values of a map: worth rows of their own only when they have fields. */
function partsOf(kind: string, path: string, node: SchemaNode | undefined): readonly Row[] {
  if (node?.properties === undefined) return [];
  const [own, ...fields] = rowsOf(kind, { path, node, isRequired: false });
  return own?.node.rules === undefined ? fields : [own, ...fields];
}

function lineOf({ path, node, isRequired }: Row): string {
  const meaning = [node.description ?? '', ...(node.notYet === undefined ? [] : [`**Not yet:** ${node.notYet}.`])];
  const cells = [`\`${path}\``, typeOf(node), limitsOf(node, isRequired).join('; '), meaning.join(' ')];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const TYPES = {
  object: 'map',
  array: 'list',
  string: 'text',
  integer: 'number',
  number: 'number',
  boolean: 'yes or no',
};

function typeOf({ type, format, refersTo, items, additionalProperties, enum: words }: SchemaNode): string {
  if (refersTo !== undefined) return `reference to ${refersTo}`;
  if (items !== undefined) return `list of ${typeOf(items)}s`;
  if (additionalProperties !== undefined) return `map of ${typeOf(additionalProperties)}s`;
  if (words !== undefined) return 'word';
  if (format === 'date-time') return 'time';
  return type === undefined ? 'anything' : TYPES[type];
}

function limitsOf(node: SchemaNode, isRequired: boolean): readonly string[] {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, maxProperties, pattern, listKeys } = node;
  const bounds: readonly (readonly [unknown, string])[] = [
    [isRequired || undefined, '**required**'],
    [node.default, `default \`${JSON.stringify(node.default)}\``],
    [node.enum, (node.enum ?? []).map((word) => `\`${String(word) || '""'}\``).join(', ')],
    [minLength, 'not empty'],
    [maxLength, `at most ${maxLength} characters`],
    [minimum, `at least ${minimum}`],
    [maximum, `at most ${maximum}`],
    [minItems, `at least ${minItems}`],
    [maxItems, `at most ${maxItems}`],
    [maxProperties, `at most ${maxProperties}`],
    [pattern, `\`${pattern}\``],
    [listKeys, `unique ${(listKeys ?? []).join(' and ')}`],
  ];
  return bounds.filter(([value]) => value !== undefined).map(([, text]) => text);
}

function rulesText(rows: readonly Row[]): readonly string[] {
  const rules = rows.flatMap(({ path, node }) => (node.rules ?? []).map(({ message }) => `* \`${path}\`: ${message}`));
  return rules.length === 0 ? [] : ['\nRules:\n', ...rules];
}

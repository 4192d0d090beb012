import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { objectSchema } from '../../crds/crd.ts';
import { kinds } from '../../crds/index.ts';
import type { SchemaNode } from '../../crds/structural.ts';

const PAGE = new URL('../../docs/coming-from-elsewhere.md', import.meta.url);

const schemas: ReadonlyMap<string, SchemaNode> = new Map(
  Object.values(kinds).map((definition) => [definition.kind, objectSchema(definition)]),
);

interface Section {
  readonly heading: string;
  /** Cells of its tables, headers left out. */
  readonly rows: readonly (readonly string[])[];
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const sections: readonly Section[] = readFileSync(PAGE, 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const [heading = '', ...lines] = text.split('\n');
    const table = lines.filter((line) => line.startsWith('|'));
    return { heading, rows: table.slice(2).map(cellsOf) };
  });

const sectionOf = (wanted: string): Section =>
  sections.find(({ heading }) => heading === wanted) ?? assert.fail(`the page has no section ${wanted}`);

/** Those that a text speaks of, also as `an MCPServerEntry's` or in the plural. */
const kindsIn = (text: string): readonly string[] =>
  [...schemas.keys()].filter((kind) => new RegExp(`(?<!\\w)${kind}(?!\\w)`).test(text));

const codeIn = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const pathsIn = (cell: string): readonly string[] => codeIn(cell).filter((code) => code.startsWith('spec.'));

/** `a.b[].<name>` → the steps that lead there. */
const stepsOf = (path: string): readonly string[] => path.replaceAll('[]', '.[]').split('.');

const has = (node: SchemaNode | undefined, [step, ...rest]: readonly string[]): boolean => {
  if (node === undefined || step === undefined) return node !== undefined;
  if (step === '[]') return has(node.items, rest);
  if (step === '<name>') return has(node.additionalProperties, rest);
  return node.preserveUnknownFields === true || has(node.properties?.[step], rest);
};

const knows = (kind: string, path: string): boolean => has(schemas.get(kind), stepsOf(path));

/** An MCPExternalAuthConfig has the same fields in another place, as the page says. */
const places = (kind: string, path: string): readonly (readonly [string, string])[] => [
  [kind, path],
  ...(path.startsWith('spec.authServerConfig.')
    ? [['MCPExternalAuthConfig', path.replace('authServerConfig', 'embeddedAuthServer')] as const]
    : []),
];

const ofKinds = sections.filter(({ heading }) => kindsIn(heading).length > 0);

describe('what is written instead of fields of another operator', () => {
  test('every kind of ours but the one that differs in nothing has a section', () => {
    const told = new Set(ofKinds.flatMap(({ heading }) => kindsIn(heading)));
    const same = ['MCPGroup', 'MCPToolConfig'];
    assert.deepEqual(
      [...schemas.keys()].filter((kind) => !told.has(kind)),
      same,
    );
  });

  for (const { heading, rows } of ofKinds) {
    for (const [fields = '', instead = ''] of rows) {
      test(`${heading}: ${codeIn(fields).join(', ')}`, () => {
        assert.notDeepEqual(pathsIn(fields), []);
        const known = kindsIn(heading)
          .flatMap((kind) => pathsIn(fields).flatMap((path) => places(kind, path)))
          .filter(([kind, path]) => knows(kind, path));
        assert.deepEqual(known, [], 'it is a field of ours: the row is stale');
        const candidates = [...kindsIn(heading), ...kindsIn(instead)];
        const lost = pathsIn(instead).filter((path) => !candidates.some((kind) => knows(kind, path)));
        assert.deepEqual(lost, [], `no field of ${candidates.join(' or ')}`);
      });
    }
  }
});

const wordsIn = (node: SchemaNode): readonly unknown[] => [
  ...(node.enum ?? []),
  ...[...Object.values(node.properties ?? {}), node.items, node.additionalProperties].flatMap((inner) =>
    inner === undefined ? [] : wordsIn(inner),
  ),
];

test('a word that is another one there is none here, and what stands for it is', () => {
  const words = new Set([...schemas.values()].flatMap(wordsIn));
  const pairs = sectionOf('Words that differ')
    .rows.map(([, there = '', here = '']) => [codeIn(there), codeIn(here)] as const)
    .filter((pair) => pair.every((codes) => codes.length === 1 && /^\w+$/.test(codes[0] ?? '')));
  assert.equal(pairs.length, 5);
  for (const [[there], [here]] of pairs) assert.deepEqual([words.has(there), words.has(here)], [false, true], there);
});

test('a kind that is said not to be there is not', () => {
  const gone = sectionOf('Kinds that are not there').rows.flatMap(([names = '']) => names.split(', '));
  assert.deepEqual(gone, ['MCPAuthzConfig', 'MCPWebhookConfig', 'MCPRegistry']);
  assert.deepEqual(
    gone.filter((kind) => schemas.has(kind)),
    [],
  );
});

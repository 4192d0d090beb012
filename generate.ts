import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { manifestFiles } from './crds/generate.ts';
import { resourceReference } from './crds/reference.ts';
import { reference } from './runtime/config/reference.ts';
import { matrixTable } from './test/peers/matrix-table.ts';

/** `npm run generate`: writes all that is made from sources, and removes what nothing makes any more. */

/** Folders that hold nothing else. The chart has a copy of the CRDs: Helm packs nothing from outside its folder. */
const FOLDERS = ['crds/manifests/', 'charts/vmcp-operator/files/crds/'];

/** Parts of pages: what stands between the marks (to the end where there is no second one) is made by `make`. */
const PARTS: readonly Part[] = [
  { path: 'docs/resources.md', after: '\n---\n\n', make: resourceReference },
  { path: 'docs/configuration.md', after: '\n---\n\n', make: reference },
  {
    path: 'docs/compatibility.md',
    after: '<!-- peers: npm run generate -->\n\n',
    before: '\n\n<!-- end of peers -->',
    make: matrixTable,
  },
];

interface Part {
  readonly path: string;
  readonly after: string;
  readonly before?: string;
  readonly make: () => string;
}

const place = (path: string): URL => new URL(path, import.meta.url);

const read = (path: string): string | undefined =>
  existsSync(place(path)) ? readFileSync(place(path), 'utf8') : undefined;

/** The page as it should be. Throws where it has lost a mark. */
const pageOf = ({ path, after, before, make }: Part): string => {
  const page = read(path) ?? '';
  const from = page.indexOf(after) + after.length;
  const to = before === undefined ? page.length : page.indexOf(before, from);
  if (!page.includes(after) || to < 0) throw new Error(`${path} has no place for what is generated`);
  return `${page.slice(0, from)}${make()}${page.slice(to)}`;
};

/** Path from here → text of every file that is generated, or has a part that is. */
const wanted = (): ReadonlyMap<string, string> =>
  new Map([
    ...FOLDERS.flatMap((folder) => [...manifestFiles()].map(([name, text]) => [`${folder}${name}`, text] as const)),
    ...PARTS.map((part) => [part.path, pageOf(part)] as const),
  ]);

interface Stale {
  readonly path: string;
  /** Undefined: the file is not wanted any more. */
  readonly text: string | undefined;
}

/** Files that do not say what their sources say. */
export const staleFiles = (): readonly Stale[] => {
  const files = wanted();
  const there = FOLDERS.flatMap((folder) => readdirSync(place(folder)).map((name) => `${folder}${name}`));
  return [
    ...there.filter((path) => !files.has(path)).map((path) => ({ path, text: undefined })),
    ...[...files].filter(([path, text]) => read(path) !== text).map(([path, text]) => ({ path, text })),
  ];
};

if (import.meta.main) {
  for (const { path, text } of staleFiles()) {
    if (text === undefined) rmSync(place(path));
    else writeFileSync(place(path), text);
  }
}

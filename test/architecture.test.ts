import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

const root = new URL('..', import.meta.url).pathname;
const files = globSync('{runtime,crds,operator}/**/*.ts', { cwd: root }).sort();
const source = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

interface Import {
  readonly from: string;
  /** A package name, `node:x`, or a path from the root of the repository. */
  readonly to: string;
  readonly isTypeOnly: boolean;
}

const importsOf = (file: string): readonly Import[] => {
  const text = source.get(file) ?? '';
  const statements = [
    ...text.matchAll(/^\s*(?:import|export)\s+(?:[^'";]*?\bfrom\s+)?'([^']+)'/gm),
    ...text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g),
  ];
  return statements.map(([statement, specifier = '']) => ({
    from: file,
    to: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier,
    isTypeOnly: /^\s*(?:import|export)\s+type\b/.test(statement),
  }));
};

const allImports = files.flatMap(importsOf);

/** Imports that exist at run time: type-only ones are free to cross fences, since nothing of them is left. */
const imports = allImports.filter(({ isTypeOnly }) => !isTypeOnly);

const offenders = (breaks: (edge: Import) => boolean): readonly string[] =>
  imports.filter(breaks).map(({ from, to }) => `${from} → ${to}`);

/** `runtime/edge/http.ts` → `runtime/edge`; files beside the rooms (`runtime/start.ts`) belong to none. */
const roomOf = (file: string): string | undefined => /^((?:runtime|operator)\/[^/]+)\/.+/.exec(file)?.[1];

const isOwnCode = (to: string): boolean => /^(runtime|crds|operator)\//.test(to);

test('dependencies point one way: operator → crds → runtime', () => {
  assert.deepEqual(
    offenders(({ from, to }) => from.startsWith('runtime/') && /^(crds|operator)\//.test(to)),
    [],
  );
  assert.deepEqual(
    offenders(({ from, to }) => from.startsWith('crds/') && to.startsWith('operator/')),
    [],
  );
});

test('crds sees of the runtime only the contract', () => {
  const foreign = ({ from, to }: Import): boolean =>
    from.startsWith('crds/') && to.startsWith('runtime/') && to !== 'runtime/config/index.ts';
  assert.deepEqual(offenders(foreign), []);
});

/** The edges that lie on a circle, or between two: all others lead out of the graph, or come from outside of it. */
const circular = (edges: readonly (readonly [string, string])[]): readonly string[] => {
  const sources = new Set(edges.map(([from]) => from));
  const targets = new Set(edges.map(([, to]) => to));
  const inside = edges.filter(([from, to]) => targets.has(from) && sources.has(to));
  if (inside.length < edges.length) return circular(inside);
  return [...new Set(edges.map(([from, to]) => `${from} → ${to}`))];
};

const circularRooms = (room: (file: string) => string | undefined): readonly string[] =>
  circular(
    allImports.flatMap(({ from, to }) => {
      const [importing, imported] = [room(from), room(to)];
      return importing === undefined || imported === undefined || importing === imported
        ? []
        : [[importing, imported] as const];
    }),
  );

test('imports, type-only ones included, form no circle of files', () => {
  assert.deepEqual(circular(allImports.map(({ from, to }) => [from, to])), []);
});

test('nor do they form a circle of rooms', () => {
  assert.deepEqual(circularRooms(roomOf), []);
});

for (const folder of ['operator/plan', 'operator/plan/server']) {
  test(`nor do imports form a circle of the folders below ${folder}`, () => {
    const below = new RegExp(`^${folder}/([^/]+)/`);
    assert.deepEqual(
      circularRooms((file) => below.exec(file)?.[1]),
      [],
    );
  });
}

test('a file beside the rooms that a room imports imports nothing of ours itself', () => {
  const importing = new Set(allImports.filter(({ to }) => isOwnCode(to)).map(({ from }) => from));
  const isHall = (file: string): boolean => /^(runtime|operator)\/[^/]+$/.test(file);
  const intoTheHall = allImports.filter(({ from, to }) => roomOf(from) !== undefined && isHall(to));
  assert.deepEqual(
    intoTheHall.filter(({ to }) => importing.has(to)).map(({ from, to }) => `${from} → ${to}`),
    [],
  );
});

test('a room of the runtime is entered through its door', () => {
  const throughTheWall = ({ from, to }: Import): boolean => {
    const room = roomOf(to);
    return room?.startsWith('runtime/') === true && roomOf(from) !== room && to !== `${room}/index.ts`;
  };
  assert.deepEqual(offenders(throughTheWall), []);
});

test('everything outside crds enters it through its door, the generator aside', () => {
  const throughTheWall = ({ from, to }: Import): boolean =>
    to.startsWith('crds/') && !from.startsWith('crds/') && to !== 'crds/index.ts';
  assert.deepEqual(offenders(throughTheWall), []);
});

/** Package → the places that may import it. */
const fences: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/': ['runtime/edge/', 'runtime/backends/'],
  ioredis: ['runtime/store/'],
  '@cedar-policy/': ['runtime/gate/'],
  '@bufbuild/': ['runtime/cel/'],
  '@opentelemetry/': ['runtime/observe/', 'operator/observe/'],
  'prom-client': ['runtime/observe/', 'operator/observe/'],
  oauth4webapi: ['runtime/auth-server/'],
  stemmer: ['runtime/optimizer/'],
  '@kubernetes/client-node': ['operator/api/', 'operator/engine/', 'operator/bridge/'],
};

for (const [name, places] of Object.entries(fences)) {
  test(`${name} is imported only in ${places.join(', ')}`, () => {
    const outside = ({ from, to }: Import): boolean =>
      to.startsWith(name) && !places.some((place) => from.startsWith(place));
    assert.deepEqual(offenders(outside), []);
  });
}

/** Composition roots, and adapters whose whole purpose is the effect they wrap. */
const effectful: readonly RegExp[] = [
  /^runtime\/(main|start)\.ts$/,
  /^operator\/(main|run|local|render|bridge)\.ts$/,
  /^runtime\/process\/system-clock\.ts$/,
  /^runtime\/config\/(read-files|watch-config)\.ts$/,
  /^runtime\/observe\/audit\/destination\.ts$/,
  /^operator\/read\/directory\.ts$/,
  /^operator\/api\/kubeconfig\.ts$/,
  /^operator\/local\//,
];

const effects: readonly (readonly [string, RegExp])[] = [
  ['process.env', /\bprocess\.env\b/],
  ['the clock', /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bhrtime\b/],
  // Those of a request, a response and a socket are left out: only the socket knows whether a byte comes or goes.
  [
    'a timer',
    /(?<!\b(?:request|response|socket)\.)\bset(?:Timeout|Interval)\(|\bAbortSignal\.timeout\(|from '(?:node:)?timers(?:\/promises)?'/,
  ],
  ['randomness', /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(|\bgetRandomValues\(/],
  ['the file system', /['"](?:node:)?fs(?:\/promises)?['"]/],
];

for (const [name, pattern] of effects) {
  test(`${name} is touched only by composition roots and adapters`, () => {
    const touching = files.filter(
      (file) =>
        !effectful.some((allowed) => allowed.test(file)) && pattern.test(withoutComments(source.get(file) ?? '')),
    );
    assert.deepEqual(touching, []);
  });
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

test('own code is imported with its extension, packages by name', () => {
  assert.deepEqual(
    offenders(({ to }) => isOwnCode(to) && !/\.(ts|json)$/.test(to)),
    [],
  );
});

test('no file is called after what it is not: utils, helpers, common, manager, types', () => {
  assert.deepEqual(
    files.filter((file) => /\/(utils?|helpers?|common|manager|types)\.ts$/.test(file)),
    [],
  );
});

test('no file has more than 300 lines', () => {
  const long = files.filter((file) => (source.get(file) ?? '').split('\n').length > 301);
  assert.deepEqual(long, []);
});

test('comments fit 120 columns', () => {
  const isWide = (line: string): boolean => line.length > 120 && /^\s*(\/\*\*|\*|\/\/) /.test(line);
  assert.deepEqual(
    files.filter((file) => (source.get(file) ?? '').split('\n').some(isWide)),
    [],
  );
});

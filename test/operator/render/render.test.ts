import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { render } from '../../../operator/render.ts';
import { entryManifest, manifests } from '../local/terminal.ts';

interface Rendered {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const rendered = async (
  t: TestContext,
  files: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<Rendered> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-render-'));
  t.after(() => rm(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return run([directory, ...args]);
};

const run = async (args: readonly string[], env = {}): Promise<Rendered> => {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const code = await render(args, {
    env,
    stdout: (text) => void stdout.push(text),
    stderr: (text) => void stderr.push(text),
    signal: new AbortController().signal,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
};

const documentsIn = (text: string): readonly { kind: string; metadata: { name: string }; [field: string]: unknown }[] =>
  parseAllDocuments(text).map((document) => document.toJS() as { kind: string; metadata: { name: string } });

test('the objects that would be applied and the status of every resource are printed as YAML documents', async (t) => {
  const { code, stdout } = await rendered(t, { 'all.yaml': manifests({ alpha: 'http://alpha/mcp' }) });
  assert.equal(code, 0);
  assert.deepEqual(
    documentsIn(stdout).map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/[0-9a-f]{10}$/, '<hash>')}`),
    [
      'MCPGroup tools',
      'MCPServerEntry alpha',
      'ServiceAccount vmcp-demo',
      'Service vmcp-demo',
      'ConfigMap vmcp-demo-<hash>',
      'Deployment vmcp-demo',
      'VirtualMCPServer demo',
    ],
  );
});

test('nothing that is printed refers to an owner that no cluster knows', async (t) => {
  const { stdout } = await rendered(t, { 'all.yaml': manifests({}) });
  assert.doesNotMatch(stdout, /ownerReferences|uid/);
});

test('image, domain of the cluster and trusted authorities come from flags', async (t) => {
  const args = ['--image', 'registry.example/vmcp:7', '--cluster-domain', 'corp.example', '--trusted-ca', 'company-ca'];
  const { stdout } = await rendered(t, { 'all.yaml': manifests({}) }, args);
  assert.match(stdout, /configMap:\n\s+name: company-ca$/m);
  assert.match(stdout, /image: registry\.example\/vmcp:7$/m);
  assert.match(stdout, /url: http:\/\/vmcp-demo\.default\.svc\.corp\.example:4483\/mcp$/m);
});

test('local.yaml, names with a dot in front and other files are no manifests', async (t) => {
  const broken = 'kind: [';
  const files = { '.hidden.yaml': broken, 'local.yaml': 'ports: {}', 'notes.txt': broken, 'all.yml': manifests({}) };
  assert.equal((await rendered(t, files)).code, 0);
});

for (const [what, text] of [
  ['a last separator', `${manifests({})}---\n`],
  ['a document of comments', `---\n# nothing yet\n---\n${manifests({})}`],
  ['a document that is null', `null\n---\n${manifests({})}`],
] as const) {
  test(`${what} is passed over, as kubectl does`, async (t) => {
    const { code, stdout, stderr } = await rendered(t, { 'all.yaml': text });
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout, (await rendered(t, { 'all.yaml': manifests({}) })).stdout);
  });
}

const broken: readonly (readonly [string, string, RegExp])[] = [
  ['not YAML', 'a: [', /^m\.yaml:\d+: not YAML: /],
  ['no object', '- a\n', /^m\.yaml:1: not a manifest; /],
  ['no kind', 'apiVersion: v1\nmetadata: { name: x }\n', /^m\.yaml:1: kind: is required; /],
  [
    'an unknown kind',
    'apiVersion: vmcp.dev/v1beta1\nkind: Vmcp\nmetadata: { name: x }\n',
    /^m\.yaml:2: kind: unknown kind "Vmcp"; /,
  ],
  ['another version', manifests({}).replace('v1beta1', 'v1alpha1'), /^m\.yaml:1: apiVersion: unknown version/],
  [
    'a missing field',
    manifests({}).replace('  groupRef: { name: tools }\n', ''),
    /^m\.yaml:4: spec\.groupRef: is required; /,
  ],
  ['a misspelt field', manifests({}).replace('groupRef:', 'groupref:'), /^m\.yaml:5: spec\.groupref: unknown field; /m],
  [
    'a wrong word',
    manifests({}).replace('anonymous', 'none'),
    /^m\.yaml:6: spec\.incomingAuth\.type: "none" is not one of/,
  ],
  ['a number too small', manifests({}, '  replicas: -1\n'), /^m\.yaml:7: spec\.replicas: must be at least 0/],
  [
    'a rule broken',
    manifests({}).replace('anonymous', 'oidc'),
    /^m\.yaml:6: spec\.incomingAuth: type oidc needs oidcConfigRef; /,
  ],
  ['a name too long', manifests({}).replace('name: demo', `name: ${'d'.repeat(41)}`), /^m\.yaml:3: .*40/],
  [
    'the same object twice',
    `${manifests({})}---\n${entryManifest('a', 'http://a')}---\n${entryManifest('a', 'http://b')}`,
    /^m\.yaml:\d+: MCPServerEntry default\/a is already in m\.yaml:\d+; /,
  ],
];

for (const [what, text, message] of broken) {
  test(`${what} is reported with file, line and remedy, and nothing is printed`, async (t) => {
    const { code, stdout, stderr } = await rendered(t, { 'm.yaml': text });
    assert.match(stderr, message);
    assert.deepEqual([code, stdout], [1, '']);
  });
}

test('a file that is too large is refused unread', async (t) => {
  const { code, stderr } = await rendered(t, { 'm.yaml': `# ${'x'.repeat(1024 * 1024)}\n` });
  assert.match(stderr, /^m\.yaml: too large: at most 1 MiB/);
  assert.equal(code, 1);
});

test('aliases that would swell are refused', async (t) => {
  const layer = (name: string, of: string): string => `${name}: &${name} [${`*${of}, `.repeat(20)}]\n`;
  const text = `apiVersion: v1\nkind: X\nmetadata: { name: x }\na: &a [1]\n${layer('b', 'a')}${layer('c', 'b')}${layer('d', 'c')}`;
  const { code, stderr } = await rendered(t, { 'm.yaml': text });
  assert.match(stderr, /too many aliases/);
  assert.equal(code, 1);
});

test('a wrong command line is answered with the usage and exit code 2', async () => {
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /^name the directory/],
    [['a', 'b'], /^one directory only, not also b$/m],
    [['--nonsense', 'a'], /^Unknown option '--nonsense'/],
    [['a', '--backend', 'x=http://y'], /^Unknown option '--backend'/],
  ];
  for (const [args, problem] of rows) {
    const { code, stderr } = await run(args);
    assert.match(stderr, problem);
    assert.match(stderr, /^usage: vmcp-operator render/m);
    assert.equal(code, 2);
  }
});

test('--help prints the usage and succeeds', async () => {
  for (const args of [['--help'], ['-h'], ['some-directory', '--help']]) {
    const { code, stdout, stderr } = await run(args);
    assert.match(stdout, /^usage: vmcp-operator render/);
    assert.deepEqual([code, stderr], [0, '']);
  }
});

test('a directory with nothing to render says so', async (t) => {
  for (const files of [
    {},
    { 'a.yaml': '# nothing\n' },
    { 'a.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\n' },
  ]) {
    const { code, stdout, stderr } = await rendered(t, files);
    assert.match(
      stderr,
      /: no manifests of MCPExternalAuthConfig, .*, MCPServerEntry, MCPRemoteProxy, MCPServer, EmbeddingServer, VirtualMCPServer in /,
    );
    assert.deepEqual([code, stdout], [1, '']);
  }
});

test('a directory that is not there is reported in a line', async () => {
  const { code, stderr } = await run(['/nowhere/at/all']);
  assert.match(stderr, /^\/nowhere\/at\/all: cannot be read: ENOENT.*\n$/);
  assert.equal(code, 1);
});

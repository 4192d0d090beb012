import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { kinds } from '../../crds/index.ts';
import { covers } from '../requirements.ts';
import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
import { casesOf, manifestOf } from './case.ts';

let api: ApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

const minimal = (kind: string, name: string) => manifestOf(casesOf(kind).accepts({ name }));
const create = (kind: string, name: string) =>
  api.kubectl(['create', '--filename', '-'], JSON.stringify(minimal(kind, name)));
const names = async (...what: readonly string[]) => (await api.kubectl(['get', ...what, '--output', 'name'])).trim();

covers('crd.vmcp.kind', 'crd.vmcp.namespaced', 'extauth.kind');
test('discovery lists every kind at v1beta1, namespaced', async () => {
  const list = JSON.parse(await api.kubectl(['get', '--raw', '/apis/vmcp.dev/v1beta1'])) as {
    readonly resources: readonly { readonly kind: string; readonly name: string; readonly namespaced: boolean }[];
  };
  const served = list.resources.filter(({ name }) => !name.includes('/'));
  assert.deepEqual(served.map(({ kind }) => kind).sort(), Object.keys(kinds).sort());
  assert.ok(served.every(({ namespaced }) => namespaced));
});

covers('versioning.api-version');
test('a resource of another version has no match', async () => {
  const manifest = { ...minimal('VirtualMCPServer', 'old'), apiVersion: 'vmcp.dev/v1alpha1' };
  await assert.rejects(api.kubectl(['create', '--filename', '-'], JSON.stringify(manifest)), /no matches for kind/);
  await create('VirtualMCPServer', 'current');
});

covers(
  'crd.vmcp.short-name.vmcp',
  'crd.vmcp.short-name.virtualmcp',
  'crd.extauth.short-name.extauth',
  'crd.extauth.short-name.mcpextauth',
);
test('every kind is listed by its short names and by nothing else', async () => {
  for (const { kind, plural, shortNames } of Object.values(kinds)) {
    await create(kind, 'listed');
    for (const shortName of shortNames)
      assert.equal(
        await names(shortName, 'listed'),
        `${plural.replace(/ies$/, 'y').replace(/s$/, '')}.vmcp.dev/listed`,
      );
  }
  assert.doesNotMatch(await names('vmcp'), /mcpgroup/);
  assert.match(await names('vmcp-all'), /mcpgroup/);
});

covers('status.phase.default-pending');
test('a server that is not reconciled yet is Pending, and for kstatus under way', async () => {
  await create('VirtualMCPServer', 'fresh');
  const fresh = await api.kubectl(['get', 'vmcp', 'fresh', '--output', 'jsonpath={.status}']);
  assert.deepEqual(JSON.parse(fresh), { phase: 'Pending', observedGeneration: -1 });
});

test('kubectl get shows phase, address, backends, tools and readiness', async () => {
  await create('VirtualMCPServer', 'shown');
  const written = await api.writeStatus('VirtualMCPServer', 'shown', {
    phase: 'Ready',
    url: 'http://vmcp-shown.default.svc.cluster.local:4483/mcp',
    backendCount: 2,
    extensions: { toolCount: 34 },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Serving', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  });
  assert.equal(written.status, 200, written.message);
  const [header, row] = (await api.kubectl(['get', 'vmcp', 'shown'])).split('\n').map((line) => line.split(/\s+/));
  assert.deepEqual(header, ['NAME', 'PHASE', 'URL', 'BACKENDS', 'TOOLS', 'READY', 'AGE']);
  assert.deepEqual(row?.slice(0, 6), [
    'shown',
    'Ready',
    'http://vmcp-shown.default.svc.cluster.local:4483/mcp',
    '2',
    '34',
    'True',
  ]);
});

const withUnknown = (name: string): string =>
  JSON.stringify(manifestOf(casesOf('VirtualMCPServer').accepts({ name, set: { 'config.unheardOf': 1 } })));

test('kubectl apply refuses an unknown field and names it', async () => {
  await assert.rejects(
    api.kubectl(['apply', '--filename', '-'], withUnknown('strict')),
    /strict decoding error: unknown field "spec.config.unheardOf"/,
  );
});

test('a client that does not ask for strictness gets unknown fields pruned', async () => {
  await api.kubectl(['create', '--validate=ignore', '--filename', '-'], withUnknown('lenient'));
  const stored = await api.kubectl(['get', 'vmcp', 'lenient', '--output', 'jsonpath={.spec.config}']);
  assert.equal(stored, '{}');
});

interface StatusCase {
  readonly kind?: string;
  readonly status: Readonly<Record<string, unknown>>;
  /** Absent: accepted. */
  readonly at?: string;
  readonly words?: string;
}

describe('the status', () => {
  before(async () => {
    for (const kind of ['VirtualMCPServer', 'MCPExternalAuthConfig']) await create(kind, 'sample');
  });

  const accepts = (status: StatusCase['status'], kind?: string): StatusCase => ({
    status,
    ...(kind === undefined ? {} : { kind }),
  });
  const refuses = (status: StatusCase['status'], at: string, words: string, kind?: string): StatusCase => ({
    ...accepts(status, kind),
    at,
    words,
  });

  const run = (cases: readonly StatusCase[]): void => {
    for (const { kind = 'VirtualMCPServer', status, at, words = '' } of cases) {
      const text = JSON.stringify(status).slice(0, 120);
      test(`of ${kind} with ${text} is ${at === undefined ? 'accepted' : `refused at ${at}`}`, async () => {
        const answer = await api.writeStatus(kind, 'sample', status);
        if (at === undefined) {
          assert.equal(answer.status, 200, answer.message);
          return;
        }
        const found = answer.causes.filter(({ field }) => field === at).map(({ message }) => message);
        assert.ok(
          found.some((message) => message.includes(words)),
          answer.message,
        );
      });
    }
  };

  covers('status.phase.enum');
  run([
    ...['Pending', 'Ready', 'Degraded', 'Failed'].map((phase) => accepts({ phase })),
    refuses({ phase: 'Running' }, 'status.phase', 'Unsupported value'),
  ]);

  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Serving',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const condition = (changes: Readonly<Record<string, unknown>>) => ({ conditions: [{ ...ready, ...changes }] });
  const AT = 'status.conditions[0]';

  covers(
    'status.condition.type-format',
    'status.condition.type-max-length',
    'status.condition.status-enum',
    'status.condition.reason-format',
    'status.condition.reason-length',
    'status.condition.message-max-length',
    'status.condition.message-may-be-empty',
    'status.condition.last-transition-time',
    'status.condition.observed-generation',
  );
  run(
    ['VirtualMCPServer', 'MCPExternalAuthConfig'].flatMap((kind) => [
      accepts(condition({}), kind),
      accepts(condition({ type: 'vmcp.dev/GroupReady' }), kind),
      refuses(condition({ type: 'not ready' }), `${AT}.type`, 'should match', kind),
      refuses(condition({ type: 'ready' }), `${AT}.type`, 'should match', kind),
      accepts(condition({ type: `R${'a'.repeat(315)}` }), kind),
      refuses(condition({ type: `R${'a'.repeat(316)}` }), `${AT}.type`, 'more than 316', kind),
      refuses(condition({ status: 'Maybe' }), `${AT}.status`, 'Unsupported value', kind),
      refuses(condition({ reason: 'not one word' }), `${AT}.reason`, 'should match', kind),
      refuses(condition({ reason: '' }), `${AT}.reason`, 'at least 1 chars', kind),
      accepts(condition({ reason: `R${'a'.repeat(1023)}` }), kind),
      refuses(condition({ reason: `R${'a'.repeat(1024)}` }), `${AT}.reason`, 'more than 1024', kind),
      accepts(condition({ message: 'a'.repeat(32_768) }), kind),
      refuses(condition({ message: 'a'.repeat(32_769) }), `${AT}.message`, 'more than 32768', kind),
      refuses(condition({ lastTransitionTime: undefined }), `${AT}.lastTransitionTime`, 'Required value', kind),
      refuses(condition({ lastTransitionTime: 'yesterday' }), `${AT}.lastTransitionTime`, 'date-time', kind),
      accepts(condition({ observedGeneration: 3 }), kind),
      refuses(condition({ observedGeneration: -1 }), `${AT}.observedGeneration`, 'greater than or equal to 0', kind),
      refuses({ conditions: [ready, ready] }, 'status.conditions[1]', 'Duplicate value', kind),
    ]),
  );

  const backend = (changes: Readonly<Record<string, unknown>>) => ({
    discoveredBackends: [{ name: 'github', ...changes }],
  });
  const BACKEND = 'status.discoveredBackends[0]';

  covers('status.discovered.status-values', 'status.discovered.circuit-state-enum', 'status.discovered.name-required');
  run([
    ...['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown'].map((status) => accepts(backend({ status }))),
    refuses(backend({ status: 'broken' }), `${BACKEND}.status`, 'Unsupported value'),
    ...['closed', 'open', 'half-open', ''].map((circuitBreakerState) => accepts(backend({ circuitBreakerState }))),
    refuses(backend({ circuitBreakerState: 'ajar' }), `${BACKEND}.circuitBreakerState`, 'Unsupported value'),
    refuses(backend({ name: undefined }), `${BACKEND}.name`, 'Required value'),
    refuses(backend({ lastHealthCheck: 'soon' }), `${BACKEND}.lastHealthCheck`, 'date-time'),
    accepts(
      backend({
        lastHealthCheck: '2026-01-01T00:00:00.5Z',
        consecutiveFailures: 2,
        circuitLastChanged: '2026-01-01T00:00:00Z',
      }),
    ),
  ]);

  const workload = (changes: Readonly<Record<string, unknown>>) => ({
    referenceCount: 1,
    configHash: 'abc',
    referencingWorkloads: [{ kind: 'MCPServer', name: 'github', ...changes }],
  });
  const WORKLOAD = 'status.referencingWorkloads[0]';

  covers('extauth.status.referencing-workloads.kind-enum', 'extauth.status.referencing-workloads.name');
  run(
    [
      ...['MCPServer', 'VirtualMCPServer', 'MCPRemoteProxy'].map((kind) => accepts(workload({ kind }))),
      refuses(workload({ kind: 'MCPServerEntry' }), `${WORKLOAD}.kind`, 'Unsupported value'),
      refuses(workload({ kind: undefined }), `${WORKLOAD}.kind`, 'Required value'),
      refuses(workload({ name: undefined }), `${WORKLOAD}.name`, 'Required value'),
      refuses(workload({ name: '' }), `${WORKLOAD}.name`, 'at least 1 chars'),
    ].map((each) => ({ ...each, kind: 'MCPExternalAuthConfig' })),
  );
});

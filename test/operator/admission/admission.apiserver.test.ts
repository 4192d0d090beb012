import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { unsupported } from '../../../crds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { PlannedCondition } from '../../../operator/plan/plan.ts';
import { violationText } from '../../../operator/validate/index.ts';
import { until } from '../../cluster/index.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { covers } from '../../requirements.ts';
import { installedCluster } from '../engine/cluster-under-test.ts';
import { conditionIn } from '../engine/cluster-user.ts';
import { type OperatorUnderTest, servers } from '../engine/operator-under-test.ts';
import { authServer, oidc, refused, refusedServers } from '../validate/cases.ts';
import { CONFIGURATION, installWebhook, trustedBy } from './chart-webhook.ts';
import { type Requests, requestsTo } from './requests.ts';

const cluster = installedCluster(servers);
const { kubectl, statusOf, writesDuring } = cluster;
let requests: Requests;
let port: number;
let operator: OperatorUnderTest;

/** The webhook is asked about these; the operator looks after all. */
const GUARDED = 'namespaces={default,doomed}';

const isReady = async ({ healthPort }: OperatorUnderTest): Promise<true | undefined> =>
  (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok ? true : undefined;

const start = async (): Promise<void> => {
  operator = await cluster.startOperator({ webhook: { configuration: CONFIGURATION, port, drainMs: 0 } });
  await until('the operator to be ready', () => isReady(operator));
};

const install = (failurePolicy: 'Fail' | 'Ignore'): Promise<void> =>
  installWebhook(cluster.plane, port, [GUARDED, `webhook.failurePolicy=${failurePolicy}`]);

before(async () => {
  await cluster.ready();
  requests = await requestsTo(cluster.plane);
  port = await freePortPair();
  await apply('MCPGroup', 'tools', {});
  await apply('MCPServerEntry', 'legacy', entry('http://me:pw@a.example.com'));
  await install('Fail');
  await start();
});
after(() => requests.close());

const object = (kind: string, name: string, spec: object, namespace = 'default'): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name, namespace },
  spec,
});

const apply = (...made: Parameters<typeof object>): Promise<unknown> => cluster.apply(object(...made));

const remove = (kind: string, name: string, ...more: readonly string[]): Promise<string> =>
  kubectl(['delete', kind, name, '--wait=false', ...more]);

const entry = (remoteUrl: string, more: object = {}) => ({
  groupRef: { name: 'tools' },
  remoteUrl,
  transport: 'streamable-http',
  ...more,
});

const isThere = async (kind: string, name: string): Promise<boolean> =>
  (await kubectl(['get', kind, name, '--ignore-not-found', '--output', 'name'])) !== '';

describe('kubectl', () => {
  test('is answered where, why and what to do, whichever way it sends', async () => {
    const bad = JSON.stringify(object('MCPServerEntry', 'bad', entry('http://me:pw@a.example.com')));
    for (const args of [['create'], ['apply'], ['apply', '--server-side'], ['apply', '--dry-run=server']]) {
      await assert.rejects(
        kubectl([...args, '-f', '-'], bad),
        /The MCPServerEntry "bad" is invalid: spec\.remoteUrl: holds credentials; remove them, and let externalAuthConfigRef name a Secret/,
      );
    }
    assert.ok(!(await isThere('mcpserverentry', 'bad')));
    await apply('MCPServerEntry', 'good', entry('http://a.example.com/mcp'));
  });

  test('is warned of what is accepted and leads nowhere', async () => {
    const change = (name: string) =>
      requests.patch('MCPServerEntry', 'good', { spec: { groupRef: { name } } }, 'dryRun=All');
    assert.deepEqual(await change('toolz'), {
      status: 200,
      message: '',
      warnings: ['no MCPGroup toolz in this namespace; create it or change spec.groupRef'],
    });
    assert.deepEqual((await change('tools')).warnings, []);
  });

  test('tries with --dry-run, and nothing comes of it', async () => {
    const dry = JSON.stringify(object('MCPServerEntry', 'dry', entry('http://a.example.com')));
    const writes = await writesDuring(() => kubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], dry));
    assert.ok(!(await isThere('mcpserverentry', 'dry')));
    assert.deepEqual(writes, []);
  });
});

describe('one list of rules', () => {
  before(async () => {
    await kubectl(['create', 'namespace', 'open']);
  });

  for (const [index, [kind, why, spec, complaints]] of [...refused, ...refusedServers].entries()) {
    test(`${kind}, ${why}: refused where there is a webhook, reported by Valid in the same words where there is none`, async () => {
      const name = `it-${index}`;
      const { status, message } = await requests.create(object(kind, name, spec));
      assert.equal(status, 422);
      assert.ok(message.endsWith(`: ${kind} ${name}: ${complaints.join('; ')}`), message);
      await apply(kind, name, spec, 'open');
      const told = await until('the condition', () => conditionOf(kind, name, 'open'));
      assert.equal(told.status, 'False');
      // Of what nobody acts on yet only that is told, where the resource is not a server.
      const missing = kind === 'VirtualMCPServer' ? [] : unsupported(kind, { spec }).map(violationText);
      assert.equal(told.message, (missing.length > 0 ? missing : complaints).join('; '));
    });
  }
});

const conditionOf = async (kind: string, name: string, namespace = 'default'): Promise<PlannedCondition | undefined> =>
  conditionIn(await statusOf(kind, name, namespace), 'Valid');

covers('errors.primary-upstream-unknown.rejected');
test('policies that name an upstream provider which is none are refused', async () => {
  const inline = { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'other' };
  const { message } = await requests.create(
    object('VirtualMCPServer', 'upstreams', {
      groupRef: { name: 'tools' },
      incomingAuth: {
        type: 'oidc',
        oidcConfigRef: { name: 'none', audience: 'a' },
        authzConfig: { type: 'inline', inline },
      },
      authServerConfig: authServer({}),
    }),
  );
  assert.match(message, /primaryUpstreamProvider: no upstream provider is called other; name one of idp$/);
});

describe('what was wrong before there was a webhook', () => {
  test('keeps its labels, finalizers and status movable', async () => {
    assert.equal((await conditionOf('MCPServerEntry', 'legacy'))?.status, 'False');
    await kubectl(['label', 'mcpserverentry', 'legacy', 'team=blue']);
    for (const finalizers of [['example.com/hold'], []]) {
      const { status } = await requests.patch('MCPServerEntry', 'legacy', { metadata: { finalizers } });
      assert.equal(status, 200);
    }
  });

  test('cannot be changed into something else that is wrong, and can be mended', async () => {
    const worse = await requests.patch('MCPServerEntry', 'legacy', {
      spec: { remoteUrl: 'http://me:pw@b.example.com' },
    });
    assert.equal(worse.status, 422);
    const mended = await requests.patch('MCPServerEntry', 'legacy', { spec: { remoteUrl: 'http://b.example.com' } });
    assert.equal(mended.status, 200);
  });
});

test('a server and what it names are mended by one kubectl apply, although the watches are a moment late', async () => {
  const spec = (issuer: string) => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'both', audience: 'a' } },
    authServerConfig: { ...authServer({}), issuer },
  });
  for (let round = 0; round < 10; round += 1) {
    const issuer = `https://issuer-${round}.example.com`;
    await requests.patch('MCPOIDCConfig', 'both', { spec: oidc({ issuer }) });
    if (round === 0) await apply('MCPOIDCConfig', 'both', oidc({ issuer }));
    const made = object('VirtualMCPServer', `both-${round}`, spec(issuer));
    const { status, message } = await requests.create(made, 'dryRun=All');
    assert.equal(status, 201, message);
  }
});

const login = { type: 'unauthenticated' };
const usingLogin = entry('http://a.example.com/mcp', { externalAuthConfigRef: { name: 'login' } });

/** The watches know who uses it. */
const untilGuarded = (): Promise<true> =>
  until('the refusal', () =>
    remove('mcpexternalauthconfig', 'login', '--dry-run=server').then(
      () => undefined,
      () => true as const,
    ),
  );

describe('configuration that is in use', () => {
  const refusal = /Forbidden.*MCPExternalAuthConfig login is in use \(MCPServerEntry\); delete what its status/;
  before(async () => {
    await apply('MCPExternalAuthConfig', 'login', login);
    await apply('MCPServerEntry', 'user', usingLogin);
    await untilGuarded();
  });

  test('is not deleted, one by one or all at once, and its users are named', async () => {
    await assert.rejects(remove('mcpexternalauthconfig', 'login'), refusal);
    await assert.rejects(kubectl(['delete', 'mcpexternalauthconfig', '--all']), refusal);
    await assert.rejects(remove('mcpexternalauthconfig', 'login', '--dry-run=server'), refusal);
    assert.ok(await isThere('mcpexternalauthconfig', 'login'));
  });

  test('goes when its user is being deleted, even while that one is held up', async () => {
    await requests.patch('MCPServerEntry', 'user', { metadata: { finalizers: ['example.com/hold'] } });
    await assert.rejects(remove('mcpexternalauthconfig', 'login'), refusal);
    await remove('mcpserverentry', 'user');
    await remove('mcpexternalauthconfig', 'login');
    assert.ok(await isThere('mcpserverentry', 'user'));
    await requests.patch('MCPServerEntry', 'user', { metadata: { finalizers: [] } });
  });

  test('goes in one kubectl delete -f with its users, these first', async () => {
    const items = [object('MCPServerEntry', 'user', usingLogin), object('MCPExternalAuthConfig', 'login', login)];
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    for (let round = 0; round < 5; round += 1) {
      await cluster.apply(...items);
      await untilGuarded();
      await kubectl(['delete', '--wait=false', '-f', '-'], list);
    }
  });

  test('goes with the annotation that says so, and with its namespace', async () => {
    await apply('MCPExternalAuthConfig', 'login', login);
    await apply('MCPServerEntry', 'user', usingLogin);
    await untilGuarded();
    await kubectl(['annotate', 'mcpexternalauthconfig', 'login', 'vmcp.dev/allow-delete=true']);
    await remove('mcpexternalauthconfig', 'login');
    await remove('mcpserverentry', 'user');
    await kubectl(['create', 'namespace', 'doomed']);
    for (const name of ['a', 'b', 'c']) await apply('MCPServerEntry', name, usingLogin, 'doomed');
    await apply('MCPExternalAuthConfig', 'login', login, 'doomed');
    await assert.rejects(
      remove('mcpexternalauthconfig', 'login', '--namespace', 'doomed'),
      /in use \(MCPServerEntry\)/,
    );
    await kubectl(['delete', 'namespace', 'doomed', '--timeout', '60s']);
  });
});

test('neither groups nor entries nor workflows are guarded', async () => {
  await apply('MCPGroup', 'others', {});
  await apply('MCPServerEntry', 'member', { ...entry('http://a.example.com/mcp'), groupRef: { name: 'others' } });
  await remove('mcpgroup', 'others');
  await remove('mcpserverentry', 'member');
});

describe('while no operator answers', () => {
  before(async () => {
    await apply('MCPExternalAuthConfig', 'login', login);
    await apply('MCPServerEntry', 'user', usingLogin);
    await operator.stop();
  });

  test('Fail refuses new specs, and nothing else', async () => {
    const { status, message } = await requests.create(object('MCPServerEntry', 'new', entry('http://a.example.com')));
    assert.equal(status, 500);
    assert.match(message, /failed calling webhook "validate\.vmcp\.dev"/);
    await kubectl(['label', 'mcpserverentry', 'user', 'team=blue']);
    await remove('mcpexternalauthconfig', 'login');
    await remove('mcpserverentry', 'user');
  });

  test('Ignore lets everything through', async () => {
    await install('Ignore');
    const { status } = await requests.create(object('MCPServerEntry', 'new', entry('http://me:pw@a.example.com')));
    assert.equal(status, 201);
  });

  test('an operator that starts is ready by itself, with the certificate that is there, and tells of what came through', async () => {
    const before = await trustedBy(cluster.plane);
    await install('Fail');
    await start();
    assert.notEqual(before, '');
    assert.equal(await trustedBy(cluster.plane), before);
    const told = await until('the condition', () => conditionOf('MCPServerEntry', 'new'));
    assert.match(told.message, /^spec\.remoteUrl: holds credentials; /);
    const { status } = await requests.create(object('MCPServerEntry', 'newer', entry('http://me:pw@a.example.com')));
    assert.equal(status, 422);
  });
});

test('nothing went wrong on the way', () => {
  assert.deepEqual(
    operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});

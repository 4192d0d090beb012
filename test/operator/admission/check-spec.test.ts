import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkSpec } from '../../../operator/admission/check-spec.ts';
import type { Verdict } from '../../../operator/admission/review.ts';
import { parseResource } from '../../../crds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { covers } from '../../requirements.ts';
import { authServer, fine, oidc, refused } from '../validate/cases.ts';
import { clusterOf, creating, object, updating } from './context-under-test.ts';

/** As the API server shows it to a webhook: with defaults. */
const stored = (kind: string, spec: object, metadata: object = {}): KubeObject => {
  const parsed = parseResource(object(kind, 'it', spec, metadata));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.value;
};

const nothing = clusterOf([]);
const messageOf = ({ refusal }: Verdict): string | undefined => refusal?.message;

describe('what is created', () => {
  fine.forEach(([kind, spec], index) => {
    test(`${kind}: what is right is let through without a word of refusal (${index})`, async () => {
      assert.equal((await checkSpec(creating(stored(kind, spec)), nothing)).refusal, undefined);
    });
  });

  for (const [kind, why, spec, violations] of refused) {
    test(`${kind}: ${why} is refused with every path, reason and remedy`, async () => {
      const { refusal } = await checkSpec(creating(stored(kind, spec)), nothing);
      assert.equal(refusal?.message, `${kind} it: ${violations.join('; ')}`);
      assert.equal(refusal?.code, 422);
      assert.deepEqual(
        refusal?.causes.map(({ path, reason, remedy }) => `${path}: ${reason}; ${remedy}`),
        violations,
      );
    });
  }

  test('objects of other groups are none of our business', async () => {
    const foreign = { ...object('MCPServerEntry', 'it', {}), apiVersion: 'example.com/v1' };
    assert.deepEqual(await checkSpec(creating(foreign), nothing), { warnings: [] });
  });

  test('what is not supported yet is let through with a warning', async () => {
    const server = stored('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      config: { outgoingAuth: { source: 'inline', default: { type: 'obo' } } },
    });
    const { refusal, warnings } = await checkSpec(creating(server), clusterOf([]));
    assert.equal(refusal, undefined);
    assert.match(warnings.join('\n'), /^spec\.config\.outgoingAuth\.default\.type: not supported.*; /m);
  });

  test('what is deprecated is let through with a warning that names what to use instead', async () => {
    const server = stored('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      config: { telemetry: { endpoint: 'https://collector.example' } },
    });
    const { refusal, warnings } = await checkSpec(creating(server), clusterOf([]));
    assert.equal(refusal, undefined);
    assert.match(warnings.join('\n'), /^spec\.config\.telemetry: is deprecated .* spec\.telemetryConfigRef$/m);
  });

  test('a broken policy is refused with its place, and one that is probably not meant so gets a warning', async () => {
    const serverWith = (policy: string) =>
      stored('VirtualMCPServer', {
        groupRef: { name: 'tools' },
        incomingAuth: { type: 'anonymous', authzConfig: { type: 'inline', inline: { policies: [policy] } } },
      });
    const broken = await checkSpec(creating(serverWith('permit(principal action, resource);')), clusterOf([]));
    assert.match(
      JSON.stringify(broken.refusal),
      /spec\.incomingAuth\.authzConfig\.inline\.policies\[0\].*line 1, column 18 of the policy/,
    );
    const odd = 'permit(principal, action == Action::"call", resource);';
    const { refusal, warnings } = await checkSpec(creating(serverWith(odd)), clusterOf([]));
    assert.equal(refusal, undefined);
    assert.match(
      warnings.join('\n'),
      /authzConfig\.inline\.policies\[0\]: there is no Action::"call"; use one of call_tool/,
    );
  });

  test('a policy that permits a subject of any issuer gets a warning where there are several', async () => {
    const policies = ['permit(principal, action, resource) when { principal.claim_sub == "ann" };'];
    const warningsWith = async (config: object) => {
      const server = stored('VirtualMCPServer', {
        groupRef: { name: 'tools' },
        incomingAuth: { type: 'anonymous', authzConfig: { type: 'inline', inline: { policies } } },
        config,
      });
      return (await checkSpec(creating(server), clusterOf([]))).warnings.filter((each) => each.includes('claim_iss'));
    };
    assert.equal((await warningsWith({ extensions: { issuers: [{ issuer: 'https://ci.example.com' }] } })).length, 1);
    assert.deepEqual(await warningsWith({}), []);
  });

  test('a header value is let through with a warning that does not repeat it', async () => {
    const headerInjection = { headerName: 'X-Key', headerValue: 'sesame' };
    const server = stored('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      config: { outgoingAuth: { source: 'inline', backends: { a: { type: 'header_injection', headerInjection } } } },
    });
    const { refusal, warnings } = await checkSpec(creating(server), clusterOf([]));
    assert.equal(refusal, undefined);
    const told = warnings.join('\n');
    assert.match(
      told,
      /^spec\.config\.outgoingAuth\.backends\.a\.headerInjection\.headerValue: .* Secret .* headerValueEnv$/m,
    );
    assert.doesNotMatch(told, /sesame/);
  });
});

const bad = { type: 'inline', inline: { issuer: 'http://idp.example.com' } };

describe('what is changed', () => {
  const before = stored('MCPOIDCConfig', bad);

  test('what has been wrong all along does not hold up labels, annotations, finalizers and status', async () => {
    const changes = [
      { ...before, metadata: { ...before.metadata, labels: { team: 'blue' }, finalizers: [] } },
      { ...before, status: { referenceCount: 1 } },
      // As a client sends it: keys in another order.
      { ...before, spec: Object.fromEntries(Object.entries(before['spec'] ?? {}).toReversed()) },
    ];
    for (const after of changes) assert.deepEqual(await checkSpec(updating(before, after), nothing), { warnings: [] });
  });

  test('a spec that changes and stays wrong is refused', async () => {
    const after = stored('MCPOIDCConfig', oidc({ issuer: 'http://other.example.com' }));
    assert.match(messageOf(await checkSpec(updating(before, after), nothing)) ?? '', /^MCPOIDCConfig it: spec\.inline/);
  });

  test('a spec that is mended is let through', async () => {
    const after = stored('MCPOIDCConfig', oidc({}));
    assert.deepEqual(await checkSpec(updating(before, after), nothing), { warnings: [] });
  });

  test('what is being deleted may be changed at will', async () => {
    const leaving = stored('MCPOIDCConfig', oidc({}), { deletionTimestamp: '2026-11-20T12:00:00Z' });
    assert.deepEqual(await checkSpec(updating(leaving, { ...leaving, spec: bad }), nothing), { warnings: [] });
  });

  test('a group without a spec is let through', async () => {
    const { spec: _, ...group } = object('MCPGroup', 'it', {});
    assert.deepEqual(await checkSpec(updating(group, { ...group }), nothing), { warnings: [] });
  });
});

describe('an issuer that is changed', () => {
  const WORDS = /issuer: another issuer signs every user out.*; keep the issuer unless that is meant$/m;
  const virtual = (issuer: string): KubeObject =>
    stored('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'a' } },
      authServerConfig: authServer({ issuer }),
    });
  const shared = (issuer: string): KubeObject =>
    stored('MCPExternalAuthConfig', { type: 'embeddedAuthServer', embeddedAuthServer: authServer({ issuer }) });
  for (const made of [virtual, shared])
    test(`is admitted with a warning: ${made('https://a.example').kind}`, async () => {
      const [before, after] = [made('https://a.example'), made('https://b.example')];
      const { refusal, warnings } = await checkSpec(updating(before, after), clusterOf([]));
      assert.equal(refusal, undefined);
      assert.match(warnings.join('\n'), WORDS);
      const created = await checkSpec(creating(after), clusterOf([]));
      assert.doesNotMatch(created.warnings.join('\n'), WORDS);
      const another = await checkSpec(
        updating(before, { ...before, spec: { ...(before['spec'] as object), config: {} } }),
        clusterOf([]),
      );
      assert.doesNotMatch(another.warnings.join('\n'), WORDS);
    });
});

describe('rules that look at what the object names', () => {
  const server = stored('VirtualMCPServer', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'a' } },
    authServerConfig: authServer({}),
  });
  const idp = (issuer: string) => object('MCPOIDCConfig', 'idp', oidc({ issuer }));
  const [same, other] = [idp('https://auth.example.com'), idp('https://other.example.com')];

  test('are held to what the watches know', async () => {
    const cluster = clusterOf([other]);
    assert.match(
      messageOf(await checkSpec(creating(server), cluster)) ?? '',
      /issues tokens of another issuer than MCPOIDCConfig idp accepts/,
    );
    assert.equal(messageOf(await checkSpec(creating(server), clusterOf([same]))), undefined);
    assert.equal(messageOf(await checkSpec(creating(server), clusterOf([]))), undefined);
  });

  test('do not refuse by what has changed since', async () => {
    const cluster = clusterOf([same], [other]);
    assert.equal(messageOf(await checkSpec(creating(server), cluster)), undefined);
    assert.ok(cluster.asked.includes('MCPOIDCConfig/default/idp'));
  });

  test('ask again for what they looked at, once, whatever else the object names', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `login-${index % 5}`);
    const backends = Object.fromEntries(
      names.map((name, index) => [`b${index}`, { type: 'externalAuthConfigRef', externalAuthConfigRef: { name } }]),
    );
    const many = { ...server, spec: { ...(server['spec'] as object), outgoingAuth: { source: 'inline', backends } } };
    const logins = [...new Set(names)].map((name) =>
      object('MCPExternalAuthConfig', name, { type: 'unauthenticated' }),
    );
    const cluster = clusterOf([other, ...logins]);
    assert.match(messageOf(await checkSpec(creating(many), cluster)) ?? '', /issues tokens of another issuer/);
    assert.deepEqual(cluster.asked, ['MCPOIDCConfig/default/idp']);
  });

  test('do not read what has not changed since', async () => {
    const known = { ...other, metadata: { ...other.metadata, generation: 1 } };
    const cluster = clusterOf([known]);
    assert.match(messageOf(await checkSpec(creating(server), cluster)) ?? '', /issues tokens of another issuer/);
    assert.deepEqual([cluster.asked, cluster.askedMetadata], [[], ['MCPOIDCConfig/default/idp']]);
    const mended = { ...same, metadata: { ...same.metadata, generation: 2 } };
    assert.equal(messageOf(await checkSpec(creating(server), clusterOf([mended], [known]))), undefined);
  });

  test('are all that costs a request', async () => {
    const cluster = clusterOf([same]);
    await checkSpec(creating(server), cluster);
    await checkSpec(creating(stored('MCPOIDCConfig', bad)), cluster);
    assert.deepEqual(cluster.asked, []);
  });

  covers('errors.primary-upstream-unknown.rejected');
  test('policies that name an upstream provider which is none are refused', async () => {
    const inline = { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'other' };
    const incomingAuth = { ...(server['spec'] as { incomingAuth: object }).incomingAuth };
    const spec = {
      ...(server['spec'] as object),
      incomingAuth: { ...incomingAuth, authzConfig: { type: 'inline', inline } },
    };
    assert.match(
      messageOf(await checkSpec(creating(stored('VirtualMCPServer', spec)), clusterOf([same]))) ?? '',
      /primaryUpstreamProvider: no upstream provider is called other; name one of idp/,
    );
  });
});

describe('names that lead nowhere', () => {
  const naming = (name: string) =>
    stored('MCPServerEntry', { groupRef: { name }, remoteUrl: 'http://a.example.com', transport: 'sse' });
  const group = (name: string) => object('MCPGroup', name, {});
  const warnings = async (review: Parameters<typeof checkSpec>[0], ...there: readonly KubeObject[]) =>
    (await checkSpec(review, clusterOf(there))).warnings;

  test('are no news when an object is made: what is applied together comes in any order', async () => {
    assert.deepEqual(await warnings(creating(naming('tools'))), []);
  });

  test('are warned of when a change brings them', async () => {
    const words = 'no MCPGroup toolz in this namespace; create it or change spec.groupRef';
    assert.deepEqual(await warnings(updating(naming('tools'), naming('toolz')), group('tools')), [words]);
    assert.deepEqual(await warnings(updating(naming('tools'), naming('toolz')), group('toolz')), []);
  });

  test('are not warned of again with every later change', async () => {
    const before = naming('toolz');
    const after = { ...before, spec: { ...(before['spec'] as object), remoteUrl: 'http://b.example.com' } };
    assert.deepEqual(await warnings(updating(before, after)), []);
  });

  test('and what is there and breaks a rule itself is refused at once', async () => {
    const server = stored('VirtualMCPServer', {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'a' } },
    });
    const told = await warnings(creating(server), object('MCPOIDCConfig', 'idp', bad));
    assert.ok(told.some((text) => text === 'MCPOIDCConfig idp cannot be used; its condition Valid says why'));
  });

  test('are compared with those of before in one walk, however many there are', async () => {
    const naming = (extra: string) => {
      const compositeToolRefs = [...Array.from({ length: 300 }, (_, index) => `flow-${index}`), extra].map((name) => ({
        name,
      }));
      return object('VirtualMCPServer', 'it', {
        groupRef: { name: 'tools' },
        incomingAuth: { type: 'anonymous' },
        config: { compositeToolRefs },
      });
    };
    const [before, after] = [naming('old'), naming('new')];
    let walks = 0;
    const counted = new Proxy(before, {
      get: (whole, field, receiver): unknown => {
        walks += field === 'spec' ? 1 : 0;
        return Reflect.get(whole, field, receiver);
      },
    });
    const told = await warnings(updating(counted, after), object('MCPGroup', 'tools', {}));
    assert.deepEqual(
      told.filter((text) => text.includes('flow') || text.includes('new')),
      [
        'no VirtualMCPCompositeToolDefinition new in this namespace; create it or change spec.config.compositeToolRefs[300]',
      ],
    );
    assert.ok(walks < 20, `the spec of before was looked at ${walks} times`);
  });
});

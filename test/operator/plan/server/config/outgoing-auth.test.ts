import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import type { KubeObject } from '../../../../../operator/object.ts';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { covers } from '../../../../requirements.ts';
import { made } from '../../made.ts';
import { condition, group, server, statusOf } from '../../plan-of-demo.ts';
import { planOf } from '../../plan-with-everything-built.ts';

const secret = (key: string) => ({ name: 'keys', key });
const auth = (name: string, spec: object): KubeObject => made('MCPExternalAuthConfig', name, spec);
const bearer = (name: string) => auth(name, { type: 'bearerToken', bearerToken: { tokenSecretRef: secret(name) } });
const [own, other] = [bearer('own'), bearer('other')];

const named = (name: string) => ({ type: 'externalAuthConfigRef', externalAuthConfigRef: { name } });
const DISCOVERED = { type: 'discovered' };

const inGroup = { groupRef: { name: 'tools' } };
const reference = (name: string | undefined) => (name === undefined ? {} : { externalAuthConfigRef: { name } });
/** Members of each kind, called by it. */
const MEMBERS: Readonly<Record<string, (config: string | undefined) => KubeObject>> = {
  entry: (config) =>
    made('MCPServerEntry', 'entry', {
      ...inGroup,
      remoteUrl: 'https://entry.example.com/mcp',
      transport: 'streamable-http',
      ...reference(config),
    }),
  container: (config) =>
    made('MCPServer', 'container', { ...inGroup, image: 'a/b:1', transport: 'sse', ...reference(config) }),
};

interface Files {
  readonly outgoingAuth?: { readonly source?: string; readonly backends?: Readonly<Record<string, object>> };
  readonly backends?: readonly { readonly name: string }[];
}
const fileOf = ({ config = {} }: Plan, name: string): Files => (parse(config[name] ?? '') ?? {}) as Files;

/** The file of the token that a backend gets; undefined: none. */
const tokenFor = (plan: Plan, name: string): unknown => {
  const found = fileOf(plan, 'backends.yaml');
  const inline = fileOf(plan, 'config.yaml').outgoingAuth?.backends;
  const strategy = found.outgoingAuth?.backends?.[name] ?? inline?.[name];
  const { bearerToken } = (strategy ?? {}) as { readonly bearerToken?: { readonly tokenFile: string } };
  return bearerToken?.tokenFile.split('/').at(-1);
};

const isContacted = (plan: Plan, name: string): boolean =>
  [...(fileOf(plan, 'backends.yaml').backends ?? []), ...(fileOf(plan, 'config.yaml').backends ?? [])].some(
    (each) => each.name === name,
  );

const shown = (plan: Plan): readonly Readonly<Record<string, unknown>>[] =>
  statusOf(plan)['discoveredBackends'] as readonly Readonly<Record<string, unknown>>[];

interface Case {
  readonly outgoingAuth: object | undefined;
  /** What the backend itself names. */
  readonly own?: string;
  /** Which config counts. */
  readonly counts: string | undefined;
}

const inline = (more: object = {}) => ({ source: 'inline', ...more });
const CASES: Readonly<Record<string, Case>> = {
  'nothing said: what it names': { outgoingAuth: undefined, own: 'own', counts: 'own' },
  'source discovered: what it names': { outgoingAuth: { source: 'discovered' }, own: 'own', counts: 'own' },
  'source discovered, and it names none: no credential': { outgoingAuth: {}, counts: undefined },
  'source discovered with a default: what it names': {
    outgoingAuth: { default: named('other') },
    own: 'own',
    counts: 'own',
  },
  'source discovered with a default, and it names none: the default': {
    outgoingAuth: { default: named('other') },
    counts: 'other',
  },
  'a default of type discovered: what it names': { outgoingAuth: { default: DISCOVERED }, own: 'own', counts: 'own' },
  'source inline: what it names does not count': { outgoingAuth: inline(), own: 'own', counts: undefined },
  'source inline with a default: the default': {
    outgoingAuth: inline({ default: named('other') }),
    own: 'own',
    counts: 'other',
  },
  'source inline with a default of type discovered: what it names': {
    outgoingAuth: inline({ default: DISCOVERED }),
    own: 'own',
    counts: 'own',
  },
};

describe('which MCPExternalAuthConfig a backend is authenticated with', () => {
  covers(
    'outgoing-auth.source.discovered',
    'outgoing-auth.source.inline',
    'outgoing-auth.default.applies-without-explicit',
    'outgoing-auth.default.discovered',
    'outgoing-auth.default.external-auth-config-ref',
    'outgoing-auth.discovered.none-unauthenticated',
    'outgoing-auth.inline.unlisted-unauthenticated',
    'operator.extauth.referrer.mcpserver',
    'operator.extauth.referrer.mcpserverentry',
  );
  for (const [kind, member] of Object.entries(MEMBERS))
    for (const [what, { outgoingAuth, own: names, counts }] of Object.entries(CASES))
      test(`${kind}, ${what}`, () => {
        const spec = outgoingAuth === undefined ? {} : { outgoingAuth };
        const plan = planOf(server(spec), group(), own, other, member(names));
        assert.equal(tokenFor(plan, kind), counts);
        assert.ok(isContacted(plan, kind));
        const [backend] = shown(plan);
        assert.deepEqual(
          [backend?.['authType'], backend?.['authConfigRef']],
          counts === undefined ? ['unauthenticated', undefined] : ['bearerToken', counts],
        );
      });

  covers(
    'outgoing-auth.backends.keyed-by-name',
    'outgoing-auth.backends.discovered',
    'outgoing-auth.backends.external-auth-config-ref',
    'outgoing-auth.backends.override-in-discovered',
    'outgoing-auth.backends.override-in-inline',
    'operator.extauth.referrer.virtualmcpserver',
  );
  for (const source of ['discovered', 'inline'])
    test(`source ${source}: an entry of outgoingAuth.backends counts, and for its backend alone`, () => {
      const [entry, container] = [MEMBERS['entry']?.('own'), MEMBERS['container']?.('own')];
      assert.ok(entry && container);
      const planned = (backends: object) =>
        planOf(server({ outgoingAuth: { source, backends } }), group(), own, other, entry, container);
      const overridden = planned({ entry: named('other') });
      const asDiscovered = planned({ entry: DISCOVERED });
      const unlisted = source === 'discovered' ? 'own' : undefined;
      assert.deepEqual([tokenFor(overridden, 'entry'), tokenFor(overridden, 'container')], ['other', unlisted]);
      assert.deepEqual([tokenFor(asDiscovered, 'entry'), tokenFor(asDiscovered, 'container')], ['own', unlisted]);
    });

  covers('outgoing-auth.precedence.spec-over-config');
  test('spec.outgoingAuth counts, and nothing of config.outgoingAuth', () => {
    const config = {
      outgoingAuth: {
        source: 'inline',
        default: { type: 'header_injection', headerInjection: { headerName: 'X-A', headerValueEnv: 'A' } },
        backends: { entry: { type: 'unauthenticated' } },
      },
    };
    const plan = planOf(
      server({ config, outgoingAuth: { backends: { entry: named('other') } } }),
      group(),
      other,
      MEMBERS['entry']?.(undefined) ?? assert.fail(),
    );
    assert.equal(tokenFor(plan, 'entry'), 'other');
    assert.doesNotMatch(JSON.stringify(plan.config), /header_injection|X-A/);
    assert.equal(condition(plan, 'ConfigOverridden')?.status, 'True');
  });

  covers('outgoing-auth.static.name-matches-group');
  test('an entry of config.backends finds its config by the name of the member, any other entry none', () => {
    const backends = ['entry', 'stranger'].map((name) => ({
      name,
      url: `https://${name}.example.com/mcp`,
      transport: 'streamable-http',
    }));
    const outgoingAuth = inline({ default: DISCOVERED });
    const plan = planOf(
      server({ config: { backends }, outgoingAuth }),
      group(),
      own,
      MEMBERS['entry']?.('own') ?? assert.fail(),
    );
    assert.deepEqual([tokenFor(plan, 'entry'), tokenFor(plan, 'stranger')], ['own', undefined]);
    assert.equal(condition(plan, 'UnknownStaticBackend')?.reason, 'NotInGroup');
  });

  covers(
    'outgoing-auth.boundary-separate',
    'outgoing.mixed-strategies',
    'outgoing.token-exchange.subject-provider-autofill',
    'outgoing.cloud-sts.subject-provider-autofill',
    'outgoing.upstream-inject.needs-embedded-server',
    'outgoing.upstream-inject.provider-must-exist',
  );
  test('backends of one server may have any strategies side by side, with an embedded server or none', () => {
    const exchange = { tokenUrl: 'https://sts.example.com/token', audience: 'a' };
    const role = { region: 'eu-west-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' };
    const configs = [
      auth('inject', { type: 'upstreamInject', upstreamInject: { providerName: 'corp' } }),
      auth('exchange', {
        type: 'tokenExchange',
        tokenExchange: { ...exchange, subjectProviderName: 'corp' },
      }),
      auth('filled', { type: 'tokenExchange', tokenExchange: exchange }),
      auth('signed', { type: 'cloudSts', cloudSts: role }),
      auth('mistaken', { type: 'upstreamInject', upstreamInject: { providerName: 'corporate' } }),
      own,
    ];
    const members = configs.map(({ metadata: { name } }) =>
      made('MCPServerEntry', `to-${name}`, {
        ...inGroup,
        remoteUrl: 'https://a.example.com/mcp',
        transport: 'streamable-http',
        ...reference(name),
      }),
    );
    const authServerConfig = {
      issuer: 'https://idp.example',
      upstreamProviders: [
        { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example', clientId: 'g' } },
      ],
    };
    const idp = made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://idp.example' } });
    const incomingAuth = { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'demo' } };
    const plan = planOf(server({ incomingAuth, authServerConfig }), group(), idp, ...configs, ...members);
    assert.deepEqual(fileOf(plan, 'backends.yaml').outgoingAuth?.backends, {
      'to-inject': { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } },
      'to-exchange': { type: 'token_exchange', tokenExchange: { ...exchange, subjectProviderName: 'corp' } },
      'to-filled': { type: 'token_exchange', tokenExchange: { ...exchange, subjectProviderName: 'corp' } },
      'to-signed': { type: 'cloud_sts', cloudSts: { ...role, subjectProviderName: 'corp' } },
      'to-own': { type: 'bearer_token', bearerToken: { tokenFile: '/etc/vmcp/secrets/keys/own' } },
    });
    assert.match(
      condition(plan, 'BackendsWithheld')?.message ?? '',
      /^MCPServerEntry to-mistaken: MCPExternalAuthConfig mistaken cannot be used: the server has no upstream provider corporate; name one of corp$/,
    );
    const without = planOf(server(), group(), ...configs, ...members);
    assert.deepEqual(Object.keys(fileOf(without, 'backends.yaml').outgoingAuth?.backends ?? {}), [
      'to-filled',
      'to-own',
      'to-signed',
    ]);
    assert.match(
      condition(without, 'BackendsWithheld')?.message ?? '',
      /MCPServerEntry to-inject: MCPExternalAuthConfig inject cannot be used: the server has no upstream provider corp; set spec\.authServerConfig/,
    );
    assert.match(
      condition(without, 'BackendsWithheld')?.message ?? '',
      /MCPServerEntry to-exchange: MCPExternalAuthConfig exchange cannot be used: the server has no upstream provider corp; set spec.authServerConfig/,
    );
  });
});

describe('what cannot be resolved is not contacted, and all else is served', () => {
  const embedded = auth('embedded', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      issuer: 'https://auth.example.com',
      upstreamProviders: [
        { name: 'idp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'a' } },
      ],
    },
  });
  const broken = made('MCPExternalAuthConfig', 'broken', {
    type: 'headerInjection',
    headerInjection: { headerName: 'X-Key', valueSecretRef: secret('key') },
  });
  const withHeader = (headerName: string): KubeObject => ({
    ...broken,
    spec: { type: 'headerInjection', headerInjection: { headerName, valueSecretRef: secret('key') } },
  });
  const cases: readonly (readonly [what: string, objects: readonly KubeObject[], reason: string, message: RegExp])[] = [
    ['a config that is missing', [], 'AuthConfigNotFound', /no MCPExternalAuthConfig broken in this namespace; create/],
    [
      'a header of the connection',
      [withHeader('Content-Length')],
      'AuthConfigInvalid',
      /Content-Length belongs to the connection or to MCP; use another header/,
    ],
    ['a header that is none', [withHeader('X-A\r\nX-B')], 'AuthConfigInvalid', /is no header name/],
    [
      'a config that is for clients',
      [{ ...embedded, metadata: { ...embedded.metadata, name: 'broken' } }],
      'AuthConfigInvalid',
      /type embeddedAuthServer is for the clients of an MCPServer or MCPRemoteProxy; name a config of another type/,
    ],
  ];
  for (const [what, objects, reason, message] of cases)
    test(what, () => {
      const [entry, container] = [MEMBERS['entry']?.('broken'), MEMBERS['container']?.('own')];
      assert.ok(entry && container);
      const plan = planOf(server(), group(), own, entry, container, ...objects);
      assert.deepEqual([isContacted(plan, 'entry'), isContacted(plan, 'container')], [false, true]);
      const withheld = condition(plan, 'BackendsWithheld');
      assert.deepEqual([withheld?.status, withheld?.reason], ['True', reason]);
      assert.match(withheld?.message ?? '', message);
      assert.equal(shown(plan).find(({ name }) => name === 'entry')?.['status'], 'unavailable');
    });
});

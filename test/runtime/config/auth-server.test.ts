import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as z from 'zod';
import {
  embeddedAuthServerSchema,
  FILE_KEY_OF_SECRET_REF,
  secretFiles,
  secretRefs,
} from '../../../runtime/config/index.ts';
import { covers } from '../../requirements.ts';
import { check } from './files.ts';

const oidcUpstream = { name: 'idp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example', clientId: 'c' } };
const ISSUER = 'https://as.example';
const server = (more: Readonly<Record<string, unknown>>) => ({
  incomingAuth: {
    type: 'oidc',
    oidc: { issuer: issuerOf(more), audience: 'tools', clientId: 'vmcp', insecureAllowHttp: true },
  },
  authServer: { issuer: ISSUER, upstreamProviders: [oidcUpstream], ...more },
});
/** That of the server, where it could be one at all. */
const issuerOf = ({ issuer }: Readonly<Record<string, unknown>>): string =>
  typeof issuer === 'string' && /^https?:[^#]*$/.test(issuer) ? issuer : ISSUER;
const upstream = (...upstreamProviders: readonly object[]) => server({ upstreamProviders });
const oidc = (more: object) => upstream({ ...oidcUpstream, oidcConfig: { ...oidcUpstream.oidcConfig, ...more } });
const endpoints = { authorizationEndpoint: 'https://o.example/authorize', tokenEndpoint: 'https://o.example/token' };
const oauth2 = (oauth2Config: object) => upstream({ name: 'o', type: 'oauth2', oauth2Config });
const known = (more: object) => oauth2({ ...endpoints, clientId: 'c', ...more });
const store = (more: object) =>
  server({
    storage: { type: 'kvstore', kvstore: { aclUserConfig: { passwordFile: '/p' }, addr: 'kv:6379', ...more } },
  });
const at = (path: string, reason: string) => `authServer.${path}: ${reason}`;
const ofProvider = (path: string, reason: string) => at(`upstreamProviders[0]${path}`, reason);

suite('the embedded authorization server', () => {
  test('sign-ins are of providers that there are, and the first of them is asked at each login', () => {
    const with2 = server({ upstreamProviders: [oidcUpstream, { ...oidcUpstream, name: 'other' }] });
    const signIns = (upstreams: object) => ({ ...with2, extensions: { authServer: { upstreams } } });
    const path = 'extensions.authServer.upstreams';
    check({
      accepts: [
        signIns({}),
        signIns({ idp: { signIn: 'atLogin' }, other: { signIn: 'onDemand' } }),
        signIns({ idp: {} }),
      ],
      refuses: [
        [signIns({ third: {} }), `${path}.third: no upstream provider is called "third"`],
        [
          signIns({ idp: { signIn: 'onDemand' } }),
          `${path}.idp.signIn: the first provider says who the user is, so it is asked at each login`,
        ],
      ],
    });
  });

  test('an issuer is HTTPS, or HTTP on this machine, without query, fragment or trailing slash', () => {
    for (const key of ['issuer', 'authorizationEndpointBaseUrl']) {
      check({
        accepts: ['https://as.example', 'https://as.example/a/b', 'http://localhost:8080', 'http://localhost/as'].map(
          (url) => server({ [key]: url }),
        ),
        refuses: [
          'http://auth.example.com',
          'http://localhost.example.com',
          'ftp://as.example',
          'as.example',
          'https://as.example?a=b',
          'https://as.example/',
          'https://as.example/a/',
        ].map((url) => [server({ [key]: url }), at(key, 'not an issuer')]),
      });
    }
    const noFragment = server({ authorizationEndpointBaseUrl: 'https://as.example#x' });
    check({
      refuses: [
        [server({ issuer: undefined }), at('issuer', 'is missing')],
        [noFragment, at('authorizationEndpointBaseUrl', 'not an issuer')],
        [
          server({ issuer: 'https://as.example#x' }),
          at('issuer', 'not an issuer'),
          at('issuer', 'issues tokens of another issuer than incomingAuth.oidc accepts'),
        ],
      ],
    });
  });

  test('there is at least one upstream provider, each with a name of its own', () => {
    check({
      accepts: [upstream(oidcUpstream, { ...oidcUpstream, name: 'x'.repeat(63) })],
      refuses: [
        [server({ upstreamProviders: undefined }), at('upstreamProviders', 'is missing')],
        [upstream(), at('upstreamProviders', 'must have at least 1 item')],
        [upstream(oidcUpstream, oidcUpstream), at('upstreamProviders[1].name', 'name "idp" is already used by item 0')],
        ...['Idp', '-idp', 'idp-'].map(
          (name) => [upstream({ ...oidcUpstream, name }), ofProvider('.name', 'not a provider name')] as const,
        ),
        [upstream({ ...oidcUpstream, name: 'x'.repeat(64) }), ofProvider('.name', 'must have at most 63 characters')],
      ],
    });
  });

  test('a provider has the object of its type and no other', () => {
    const both = { ...oidcUpstream, oauth2Config: { ...endpoints, clientId: 'c' } };
    check({
      refuses: [
        [upstream({ name: 'a', type: 'oidc' }), ofProvider('', 'type oidc needs oidcConfig')],
        [upstream({ name: 'a', type: 'oauth2' }), ofProvider('', 'type oauth2 needs oauth2Config')],
        [upstream(both), ofProvider('.oauth2Config', 'oauth2Config is allowed only with type oauth2')],
        [upstream({ ...both, type: 'oauth2' }), ofProvider('.oidcConfig', 'oidcConfig is allowed only with type oidc')],
        [
          upstream({ ...oidcUpstream, type: 'saml' }),
          ofProvider('.type', '"saml" is not a known value'),
          /only with type oidc$/,
        ],
      ],
    });
  });

  test('an OIDC provider has an HTTPS issuer and a client', () => {
    check({
      accepts: [
        oidc({ clientSecretFile: '/s', scopes: ['openid'], additionalAuthorizationParams: { prompt: 'consent' } }),
      ],
      refuses: [
        [oidc({ issuerUrl: 'http://idp.example' }), ofProvider('.oidcConfig.issuerUrl', 'not an HTTPS address')],
        [oidc({ issuerUrl: undefined }), ofProvider('.oidcConfig.issuerUrl', 'is missing')],
        [oidc({ clientId: undefined }), ofProvider('.oidcConfig.clientId', 'is missing')],
        [
          oidc({ clientSecretRef: { name: 'a', key: 'b' } }),
          ofProvider('.oidcConfig.clientSecretRef', 'belongs in a resource'),
        ],
      ],
    });
  });

  covers('authserver.upstream.oidc.extra-params-reserved', 'authserver.upstream.oauth2.extra-params-reserved');
  test('the parameters that the server sets cannot be given', () => {
    const managed = [
      'response_type',
      'client_id',
      'redirect_uri',
      'scope',
      'state',
      'code_challenge',
      'code_challenge_method',
      'nonce',
      'response_mode',
      'request',
      'request_uri',
    ];
    for (const config of [oidc, known]) {
      check({
        refuses: managed.map((name) => [
          config({ additionalAuthorizationParams: { [name]: 'x' } }),
          /additionalAuthorizationParams: response_type, .* are set by the server$/,
        ]),
      });
    }
  });

  covers(
    'authserver.upstream.dcr.registration-needs-authorization-endpoint',
    'authserver.upstream.dcr.registration-needs-token-endpoint',
    'authserver.upstream.dcr.registration-needs-scopes',
  );
  test('an OAuth 2 provider has endpoints and a client, or registers one', () => {
    const discovery = { dcrConfig: { discoveryUrl: 'https://o.example/.well-known/x' } };
    const registration = { dcrConfig: { registrationEndpoint: 'https://o.example/register' } };
    const config = '.oauth2Config';
    check({
      accepts: [
        known({}),
        oauth2(discovery),
        oauth2({ ...discovery, clientId: '' }),
        oauth2({ ...endpoints, ...registration, scopes: ['a'] }),
      ],
      refuses: [
        [oauth2({ ...endpoints }), ofProvider(config, 'exactly one of clientId and dcrConfig must be set')],
        [known(discovery), ofProvider(config, 'exactly one of clientId and dcrConfig must be set')],
        [known({ authorizationEndpoint: undefined }), ofProvider(config, 'authorizationEndpoint is required')],
        [known({ tokenEndpoint: undefined }), ofProvider(config, 'tokenEndpoint is required')],
        [known({ tokenEndpoint: 'o.example' }), ofProvider(`${config}.tokenEndpoint`, 'not an HTTP address')],
        [
          oauth2({ ...registration, scopes: ['a'] }),
          ofProvider(config, 'authorizationEndpoint is required'),
          ofProvider(config, 'tokenEndpoint is required'),
        ],
        [oauth2({ ...endpoints, ...registration }), ofProvider(config, 'dcrConfig.registrationEndpoint needs scopes')],
      ],
    });
  });

  test('a registration has exactly one way and bounded fields', () => {
    const url = 'https://o.example/x';
    const registration = (dcrConfig: object) => oauth2({ ...endpoints, scopes: ['a'], dcrConfig });
    const path = '.oauth2Config.dcrConfig';
    check({
      accepts: [
        registration({ discoveryUrl: url, softwareId: 'x'.repeat(255), softwareStatement: 'x'.repeat(16_384) }),
      ],
      refuses: [
        [registration({}), ofProvider(path, 'exactly one of discoveryUrl and registrationEndpoint must be set')],
        [
          registration({ discoveryUrl: url, registrationEndpoint: url }),
          /exactly one of discoveryUrl and registrationEndpoint/,
        ],
        [
          registration({ discoveryUrl: 'http://o.example' }),
          ofProvider(`${path}.discoveryUrl`, 'not an HTTPS address'),
        ],
        [registration({ registrationEndpoint: 'http://o.example' }), /registrationEndpoint: not an HTTPS address$/],
        [
          registration({ discoveryUrl: `${url}${'x'.repeat(2048)}` }),
          /discoveryUrl: must have at most 2048 characters$/,
        ],
        [
          registration({ discoveryUrl: url, softwareId: 'x'.repeat(256) }),
          /softwareId: must have at most 255 characters$/,
        ],
        [
          registration({ discoveryUrl: url, softwareStatement: 'x'.repeat(16_385) }),
          /must have at most 16384 characters$/,
        ],
      ],
    });
  });

  test('identity and token paths have their lengths', () => {
    const identity = (identityFromToken: object) => known({ identityFromToken });
    check({
      accepts: [identity({ subjectPath: 'sub' }), known({ tokenResponseMapping: { accessTokenPath: 'a.b' } })],
      refuses: [
        [identity({}), /subjectPath: is missing$/],
        [identity({ subjectPath: '' }), /subjectPath: must not be empty$/],
        [identity({ subjectPath: 'x'.repeat(257) }), /subjectPath: must have at most 256 characters$/],
        [identity({ subjectPath: 'a', namePath: '' }), /namePath: must not be empty$/],
        [identity({ subjectPath: 'a', emailPath: 'x'.repeat(257) }), /emailPath: must have at most 256 characters$/],
        [known({ tokenResponseMapping: {} }), /accessTokenPath: is missing$/],
        [known({ tokenResponseMapping: { accessTokenPath: '' } }), /accessTokenPath: must not be empty$/],
      ],
    });
  });

  test('userinfo is read with GET or POST', () => {
    check({
      accepts: [
        known({
          userInfo: { endpointUrl: 'https://o.example/me', httpMethod: 'POST', fieldMapping: { nameFields: ['n'] } },
        }),
      ],
      refuses: [
        [known({ userInfo: {} }), /userInfo.endpointUrl: is missing$/],
        [known({ userInfo: { endpointUrl: 'ftp://o.example' } }), /endpointUrl: not an HTTP address$/],
        [known({ userInfo: { endpointUrl: 'https://o.example', httpMethod: 'PUT' } }), /"PUT" is not a known value$/],
      ],
    });
  });

  test('a key-value store is reached directly or through sentinels', () => {
    const sentinels = { addr: undefined, sentinelConfig: { masterName: 'm', sentinelAddrs: ['s:26379', '[::1]:1'] } };
    const kvstore = at('storage.kvstore', '').slice(0, -2);
    check({
      accepts: [store({ clusterMode: true, tls: {} }), store({ ...sentinels, sentinelTls: { caCertFile: '/ca' } })],
      refuses: [
        [server({ storage: { type: 'file' } }), at('storage.type', '"file" is not a known value')],
        [server({ storage: { type: 'kvstore' } }), at('storage', 'type kvstore needs kvstore')],
        [store({ aclUserConfig: undefined }), `${kvstore}.aclUserConfig: is missing`],
        [store({ aclUserConfig: {} }), `${kvstore}.aclUserConfig.passwordFile: is missing`],
        [store({ addr: 'kv' }), `${kvstore}.addr: not host:port`],
        [store({ sentinelConfig: sentinels.sentinelConfig }), /exactly one of addr and sentinelConfig must be set$/],
        [store({ ...sentinels, clusterMode: true }), `${kvstore}.clusterMode: clusterMode needs addr`],
        [store({ sentinelTls: {} }), `${kvstore}.sentinelTls: sentinelTls needs sentinelConfig`],
        [store({ addr: undefined, sentinelConfig: { sentinelAddrs: ['s:1'] } }), /masterName: is missing$/],
        [
          store({ addr: undefined, sentinelConfig: { masterName: 'm' } }),
          /exactly one of sentinelAddrs and sentinelService must be set$/,
        ],
        [
          store({ addr: undefined, sentinelConfig: { masterName: 'm', sentinelAddrs: ['s'] } }),
          /\[0\]: not host:port$/,
        ],
        [
          store({ addr: undefined, sentinelConfig: { masterName: 'm', sentinelService: {} } }),
          /sentinelService.name: is missing$/,
        ],
      ],
    });
  });

  test('its lifespans and store timeouts are durations', () => {
    for (const key of ['accessTokenLifespan', 'refreshTokenLifespan', 'authCodeLifespan']) {
      const refusal = at(`tokenLifespans.${key}`, 'not a duration');
      check({
        accepts: [server({ tokenLifespans: { [key]: '1.5h' } })],
        refuses: [[server({ tokenLifespans: { [key]: '7d' } }), refusal]],
      });
    }
    for (const key of ['dialTimeout', 'readTimeout', 'writeTimeout']) {
      check({
        accepts: [store({ [key]: '500ms' })],
        refuses: [[store({ [key]: '5' }), at(`storage.kvstore.${key}`, 'not a duration')]],
      });
    }
  });

  test('resources and the file differ in how secrets are spelled, and in nothing else', () => {
    const secretRef = z.strictObject({ name: z.string(), key: z.string() });
    const paths = (schema: z.ZodType) => keysIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
    const asFile = (path: string): string =>
      path.replace(/[^.]+$/, (key) => (FILE_KEY_OF_SECRET_REF as Readonly<Record<string, string>>)[key] ?? key);
    const ofResource = paths(embeddedAuthServerSchema(secretRefs(secretRef))).filter(
      (path) => !/Refs?\.(name|key)$/.test(path),
    );
    assert.deepEqual(ofResource.map(asFile).toSorted(), paths(embeddedAuthServerSchema(secretFiles)).toSorted());
  });
});

/** Every property below a JSON schema, dotted; list items are left out of the path. */
function keysIn(schema: unknown, above = ''): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
  return [
    ...Object.entries(properties).flatMap(([key, inner]) => [`${above}${key}`, ...keysIn(inner, `${above}${key}.`)]),
    ...keysIn(items, above),
  ];
}

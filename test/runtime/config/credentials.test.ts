import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers } from '../../requirements.ts';
import { check, problemsOf } from './files.ts';
import { oidc, sections } from './sections.ts';

const strategy = (value: object) => ({ outgoingAuth: { source: 'inline', default: value } });
const sts = (more: object) => strategy({ type: 'cloud_sts', cloudSts: { region: 'us-east-1', ...more } });
const backendSts = (more: object) => ({
  outgoingAuth: {
    source: 'inline',
    backends: { a: { type: 'cloud_sts', cloudSts: { region: 'us-east-1', ...more } } },
  },
});
const matcher = (text: string) => sts({ roleMappings: [{ roleArn: ARN, matcher: text }] });
const NO_ROLE = 'at least one of fallbackRoleArn and roleMappings must be set';
const ARN = 'arn:aws:iam::123456789012:role/team/reader';

covers('crd.config.header-injection.value-exclusive');
sections({
  incomingAuth: [
    {
      fact: 'the type is one of three words',
      accepts: [{ incomingAuth: { type: 'local' } }, { incomingAuth: { type: 'anonymous' } }, oidc({})],
      refuses: [
        [{ incomingAuth: {} }, 'incomingAuth.type: is missing'],
        [{ incomingAuth: { type: 'basic' } }, 'incomingAuth.type: "basic" is not a known value'],
        [{ incomingAuth: { type: 'oidc' } }, 'incomingAuth: type oidc needs oidc'],
      ],
    },
    {
      fact: 'oidc needs issuer, audience and clientId',
      refuses: ['issuer', 'audience', 'clientId'].map((key) => [
        oidc({ [key]: undefined }),
        `incomingAuth.oidc.${key}: is missing`,
      ]),
    },
    {
      fact: 'an issuer has HTTP or HTTPS, and HTTP only on request',
      accepts: [oidc({ issuer: 'http://i.example', insecureAllowHttp: true })],
      refuses: [
        [oidc({ issuer: 'http://i.example' }), 'incomingAuth.oidc.issuer: an issuer without TLS is not allowed'],
        [oidc({ issuer: 'i.example' }), 'incomingAuth.oidc.issuer: not an HTTP address'],
      ],
    },
    {
      fact: 'authz is cedar with policies, or none',
      accepts: [
        { incomingAuth: { type: 'anonymous', authz: { type: 'none' } } },
        {
          incomingAuth: {
            type: 'anonymous',
            authz: { type: 'cedar', policies: ['permit(principal, action, resource);'] },
          },
        },
      ],
      refuses: [
        [{ incomingAuth: { type: 'anonymous', authz: {} } }, 'incomingAuth.authz.type: is missing'],
        [{ incomingAuth: { type: 'anonymous', authz: { type: 'opa' } } }, /"opa" is not a known value/],
        [
          { incomingAuth: { type: 'anonymous', authz: { type: 'cedar' } } },
          'incomingAuth.authz: type cedar needs policies',
        ],
      ],
    },
  ],
  outgoingAuth: [
    {
      fact: 'the source is required',
      accepts: [{ outgoingAuth: { source: 'inline' } }, { outgoingAuth: { source: 'discovered' } }],
      refuses: [
        [{ outgoingAuth: {} }, 'outgoingAuth.source: is missing'],
        [{ outgoingAuth: { source: 'static' } }, /"static" is not a known value/],
      ],
    },
    {
      fact: 'a strategy comes with its own object and no other',
      accepts: [
        strategy({ type: 'unauthenticated' }),
        strategy({ type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValueEnv: 'KEY' } }),
        strategy({ type: 'bearer_token', bearerToken: { tokenFile: '/etc/token' } }),
        strategy({ type: 'token_exchange', tokenExchange: { tokenUrl: 'https://sts.example/token' } }),
        sts({ fallbackRoleArn: ARN }),
      ],
      refuses: [
        [strategy({}), 'outgoingAuth.default.type: is missing'],
        [strategy({ type: 'basic' }), /"basic" is not a known value/],
        [
          strategy({ type: 'obo' }),
          'outgoingAuth.default.type: not supported: obo is a reserved word, which has no fields, and nothing serves it',
        ],
        [strategy({ type: 'header_injection' }), 'outgoingAuth.default: type header_injection needs headerInjection'],
        [strategy({ type: 'token_exchange' }), 'outgoingAuth.default: type token_exchange needs tokenExchange'],
        [strategy({ type: 'upstream_inject' }), 'outgoingAuth.default: type upstream_inject needs upstreamInject'],
        [strategy({ type: 'cloud_sts' }), 'outgoingAuth.default: type cloud_sts needs cloudSts'],
        [strategy({ type: 'bearer_token' }), 'outgoingAuth.default: type bearer_token needs bearerToken'],
        [
          strategy({ type: 'unauthenticated', bearerToken: { tokenFile: '/t' } }),
          'outgoingAuth.default.bearerToken: bearerToken is allowed only with type bearer_token',
        ],
      ],
    },
    {
      fact: 'a header has exactly one value',
      refuses: [
        [
          strategy({
            type: 'header_injection',
            headerInjection: { headerName: 'X', headerValue: 'a', headerValueEnv: 'B' },
          }),
          'outgoingAuth.default.headerInjection: exactly one of headerValue, headerValueEnv and headerValueFile must be set',
        ],
        [
          strategy({ type: 'header_injection', headerInjection: { headerName: 'X' } }),
          'outgoingAuth.default.headerInjection: exactly one of headerValue, headerValueEnv and headerValueFile must be set',
        ],
        [
          strategy({ type: 'header_injection', headerInjection: { headerName: 'X Y', headerValue: 'a' } }),
          'outgoingAuth.default.headerInjection.headerName: not a header name',
        ],
      ],
    },
    {
      fact: 'a client secret is given at most once',
      refuses: [
        [
          strategy({
            type: 'token_exchange',
            tokenExchange: {
              tokenUrl: 'https://sts.example',
              clientId: 'c',
              clientSecret: 'a',
              clientSecretFile: '/b',
            },
          }),
          'outgoingAuth.default.tokenExchange: clientSecret, clientSecretEnv and clientSecretFile exclude each other',
        ],
      ],
    },
    {
      fact: 'an injected token needs an upstream provider of that name',
      refuses: [
        [
          strategy({ type: 'upstream_inject', upstreamInject: { providerName: 'idp' } }),
          'outgoingAuth.default.upstreamInject.providerName: no upstream provider is called "idp"',
        ],
      ],
    },
    {
      fact: 'role sessions have bounds, roles a form, mappings one condition',
      accepts: [
        sts({ fallbackRoleArn: ARN, sessionDuration: 900 }),
        sts({ roleMappings: [{ roleArn: ARN, claim: 'admins', priority: 0 }], sessionDuration: 43_200 }),
        sts({ fallbackRoleArn: ARN, roleMappings: [] }),
      ],
      refuses: [
        [sts({}), `outgoingAuth.default.cloudSts: ${NO_ROLE}`],
        [sts({ roleMappings: [] }), `outgoingAuth.default.cloudSts: ${NO_ROLE}`],
        [backendSts({ roleMappings: [] }), `outgoingAuth.backends.a.cloudSts: ${NO_ROLE}`],
        [sts({ fallbackRoleArn: ARN, sessionDuration: 899 }), /sessionDuration: must be at least 900$/],
        [sts({ fallbackRoleArn: ARN, sessionDuration: 43_201 }), /sessionDuration: must be at most 43200$/],
        [sts({ fallbackRoleArn: 'arn:aws:iam::12345678901:role/x' }), /fallbackRoleArn: not a role$/],
        [sts({ fallbackRoleArn: ARN, region: 'US-EAST-1' }), /region: not a region$/],
        [sts({ fallbackRoleArn: ARN, region: 'useast' }), /region: not a region$/],
        [
          sts({ roleMappings: [{ roleArn: ARN, claim: 'a', matcher: 'true' }] }),
          /exactly one of claim and matcher must be set$/,
        ],
        [sts({ roleMappings: [{ roleArn: ARN }] }), /exactly one of claim and matcher must be set$/],
        [sts({ roleMappings: [{ roleArn: ARN, claim: 'a', priority: -1 }] }), /priority: must be at least 0$/],
        [sts({ fallbackRoleArn: ARN, service: 'a/b' }), /service: not a service name$/],
        [sts({ fallbackRoleArn: ARN, roleClaim: '' }), /roleClaim: /],
      ],
    },
    {
      fact: 'a matcher is a condition that can be evaluated',
      accepts: [matcher('"admins" in claims.groups'), matcher('claims["https://a.example/b"].exists(x, x == "c")')],
      refuses: [
        [matcher('claims.groups.'), /matcher: no CEL condition over claims: it cannot be read from character 14 on$/],
        [matcher('"a" in groups'), /matcher: no CEL condition over claims: there is no variable groups$/],
        [matcher('lower(claims.sub) == "a"'), /matcher: no CEL condition over claims: there is no function lower$/],
        [matcher('claims.sub + "a"'), /matcher: no CEL condition over claims: its value is neither true nor false$/],
        [matcher(`${'('.repeat(30)}true${')'.repeat(30)}`), /matcher: no CEL condition over claims: more than 24 br/],
        [matcher('x'.repeat(1_025)), /matcher: must have at most 1024 characters$/],
      ],
    },
  ],
});

test('of strategies, only those that somebody would write are recommended', () => {
  const remedyOf = (type: unknown) => problemsOf(strategy({ type }))[0]?.remedy;
  const all = 'header_injection or token_exchange or upstream_inject or cloud_sts or bearer_token';
  assert.equal(remedyOf('obo'), `write ${all}`);
  for (const type of ['basic', 'oboe', 'token_rely']) {
    assert.match(remedyOf(type) ?? '', /^write header_injection or /);
    assert.doesNotMatch(remedyOf(type) ?? '', /obo\b|token_relay|unauthenticated/);
  }
  assert.match(remedyOf('unauthenticate') ?? '', /did you mean unauthenticated\?/);
  assert.doesNotMatch(remedyOf(undefined) ?? '', /obo\b|token_relay/);
});

covers('outgoing.upstream-inject.needs-embedded-server', 'outgoing.upstream-inject.provider-must-exist');
test('a strategy names an upstream of the embedded server, and is told which there are', () => {
  const upstreamProviders = ['okta', 'github'].map((name) => ({
    name,
    type: 'oidc',
    oidcConfig: { issuerUrl: `https://${name}.example`, clientId: 'c' },
  }));
  const oidc = { issuer: 'https://auth.example', audience: 'https://auth.example/mcp', clientId: 'c' };
  const authServer = { issuer: oidc.issuer, upstreamProviders };
  const named = {
    'upstreamInject.providerName': (name: string) =>
      strategy({ type: 'upstream_inject', upstreamInject: { providerName: name } }),
    'tokenExchange.subjectProviderName': (name: string) =>
      strategy({
        type: 'token_exchange',
        tokenExchange: { tokenUrl: 'https://sts.example/token', subjectProviderName: name },
      }),
    'cloudSts.subjectProviderName': (name: string) => sts({ fallbackRoleArn: ARN, subjectProviderName: name }),
  };
  for (const [key, file] of Object.entries(named)) {
    const at = `outgoingAuth.default.${key}`;
    const withServer = (name: string) => ({ incomingAuth: { type: 'oidc', oidc }, authServer, ...file(name) });
    check({
      accepts: [withServer('okta'), withServer('github')],
      refuses: [
        [withServer('gitlab'), `${at}: no upstream provider is called "gitlab"`],
        [file('okta'), `${at}: no upstream provider is called "okta"`],
      ],
    });
    const remedyOf = (tried: object) => problemsOf({ ...tried }).find(({ path }) => path === at)?.remedy;
    assert.equal(remedyOf(withServer('gitlab')), 'name one of okta, github');
    assert.equal(remedyOf(file('okta')), 'add it to authServer.upstreamProviders');
  }
});

covers('authz.config.primary-upstream.must-match', 'authz.config.primary-upstream.embedded-only');
test('primaryUpstreamProvider must match an upstream of the embedded server', () => {
  const upstreams = ['okta', 'github'].map((name) => ({
    name,
    type: 'oidc',
    oidcConfig: { issuerUrl: `https://${name}.example`, clientId: 'c' },
  }));
  const file = (primaryUpstreamProvider: string, authServer?: object) => ({
    incomingAuth: {
      type: 'oidc',
      oidc: { issuer: 'https://auth.example', audience: 'tools', clientId: 'vmcp' },
      authz: { type: 'none', primaryUpstreamProvider },
    },
    ...(authServer && { authServer }),
  });
  const embedded = { issuer: 'https://auth.example', upstreamProviders: upstreams };
  const at = 'incomingAuth.authz.primaryUpstreamProvider';
  check({
    accepts: [file('okta', embedded), file('github', embedded)],
    refuses: [
      [file('gitlab', embedded), `${at}: no upstream provider is called "gitlab"`],
      // No server, so no upstream.
      [file('okta'), `${at}: no upstream provider is called "okta"`],
    ],
  });
  const [problem] = problemsOf(file('gitlab', embedded)).filter(({ path }) => path === at);
  assert.equal(problem?.remedy, 'name one of okta, github');
});

import { suite, test } from 'node:test';
import { covers } from '../../requirements.ts';
import { check, type Verdicts } from './files.ts';

/** A fact about the file, the name of the test, and the files that show it. */
interface Case extends Verdicts {
  readonly fact: string;
}

const backend = (more: object) => ({
  backends: [{ name: 'a', url: 'https://a.example', transport: 'streamable-http', ...more }],
});
const without = (key: string) => {
  const { [key]: _, ...rest } = { name: 'a', url: 'https://a.example', transport: 'sse' } as Record<string, string>;
  return { backends: [rest] };
};
const operational = (failureHandling: object) => ({ operational: { failureHandling } });
const optimizer = (more: object) => ({ optimizer: more });
const bucket = (more: object) => ({ rateLimiting: { shared: { maxTokens: 5, refillPeriod: '1m', ...more } } });
const oidc = (more: object) => ({
  incomingAuth: { type: 'oidc', oidc: { issuer: 'https://i.example', audience: 'a', clientId: 'c', ...more } },
});
const strategy = (value: object) => ({ outgoingAuth: { source: 'inline', default: value } });
const sts = (more: object) => strategy({ type: 'cloud_sts', cloudSts: { region: 'us-east-1', ...more } });
const ARN = 'arn:aws:iam::123456789012:role/team/reader';
const NOT_A_DURATION = 'not a duration';
const durations = (path: string, file: (value: unknown) => object, zero: 'zero' | 'no zero'): Case => ({
  fact: `${path} is a duration`,
  accepts: [file('1m30s'), file('1.5h'), ...(zero === 'zero' ? [file('0s')] : [])] as Record<string, unknown>[],
  refuses: [
    [file('1d') as Record<string, unknown>, `${path}: ${NOT_A_DURATION}`],
    [file('30') as Record<string, unknown>, `${path}: ${NOT_A_DURATION}`],
    [file('') as Record<string, unknown>, `${path}: ${NOT_A_DURATION}`],
    [file(30) as Record<string, unknown>, `${path}: not a text such as 30s`],
    ...(zero === 'zero'
      ? []
      : ([[file('0s'), /(more than zero|at least 1s)$/]] as unknown as [Record<string, unknown>, RegExp][])),
  ],
});

const cases: Readonly<Record<string, readonly Case[]>> = {
  aggregation: [
    {
      fact: 'conflictResolution has three words',
      accepts: ['prefix', 'priority', 'manual'].map((word) => ({ aggregation: { conflictResolution: word } })),
      refuses: [
        [
          { aggregation: { conflictResolution: 'first' } },
          /^aggregation.conflictResolution: "first" is not a known value$/,
        ],
      ],
    },
    {
      fact: 'prefixFormat must give legal tool names',
      accepts: ['{workload}_', '{workload}', '{workload}.', 'x-{workload}-', '', 'fixed_'].map((prefixFormat) => ({
        aggregation: { conflictResolutionConfig: { prefixFormat } },
      })),
      refuses: ['{workload} ', '{server}_', 'ä', '{'].map((prefixFormat) => [
        { aggregation: { conflictResolutionConfig: { prefixFormat } } },
        'aggregation.conflictResolutionConfig.prefixFormat: gives illegal tool names',
      ]),
    },
    {
      fact: 'tools name their workload once',
      accepts: [{ aggregation: { tools: [{ workload: 'a', filter: ['x'], excludeAll: true }] } }],
      refuses: [
        [{ aggregation: { tools: [{ filter: ['x'] }] } }, 'aggregation.tools[0].workload: is missing'],
        [
          { aggregation: { tools: [{ workload: 'a' }, { workload: 'a' }] } },
          /\[1\].workload: workload "a" is already used by item 0/,
        ],
      ],
    },
    {
      fact: 'overrides change name, description and the five annotations',
      accepts: [
        {
          aggregation: {
            tools: [
              {
                workload: 'a',
                overrides: {
                  echo: {
                    name: 'say',
                    description: 'Says it.',
                    annotations: {
                      title: 't',
                      readOnlyHint: true,
                      destructiveHint: false,
                      idempotentHint: true,
                      openWorldHint: false,
                    },
                  },
                },
              },
            ],
          },
        },
      ],
      refuses: [
        [
          { aggregation: { tools: [{ workload: 'a', overrides: { echo: { annotations: { readonlyHint: true } } } }] } },
          'aggregation.tools[0].overrides.echo.annotations.readonlyHint: unknown key',
        ],
      ],
    },
    {
      fact: 'a reference to an MCPToolConfig is refused in a file',
      refuses: [
        [
          { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'x' } }] } },
          'aggregation.tools[0].toolConfigRef: belongs in a VirtualMCPServer',
        ],
      ],
    },
  ],
  audit: [
    {
      fact: 'sizes are whole numbers',
      accepts: [{ audit: { enabled: true, maxDataSize: 0 } }],
      refuses: [
        [{ audit: { maxDataSize: -1 } }, 'audit.maxDataSize: must be at least 0'],
        [{ audit: { maxDataSize: 1.5 } }, 'audit.maxDataSize: must be a whole number, not a number with decimals'],
      ],
    },
  ],
  backends: [
    {
      fact: 'name, url and transport are required',
      refuses: [
        [without('name'), 'backends[0].name: is missing'],
        [without('url'), 'backends[0].url: is missing'],
        [without('transport'), 'backends[0].transport: is missing'],
      ],
    },
    {
      fact: 'an address starts with http:// or https://',
      accepts: [
        backend({ url: 'http://a' }),
        backend({ url: 'https://a:8080/mcp?x=1' }),
        backend({ url: 'http://[::1]:80/' }),
      ],
      refuses: ['ftp://h', 'host:80', 'http://', 'HTTP//a', ''].map((url) => [
        backend({ url }),
        'backends[0].url: not an HTTP address',
      ]),
    },
    {
      fact: 'an address is one that can be connected to',
      accepts: ['http://under_score.x', 'http://a:65535', 'http://10.0.0.1/mcp?a=b@c', 'http://a/with space'].map(
        (url) => backend({ url }),
      ),
      refuses: [
        'http://h:99999/',
        'http://h:/x',
        'http://[::1/mcp',
        'http://[::::]/',
        'http://%/',
        'http://999.1.1.1/',
        'http://a b/',
        'https://user:secret@h/',
        'http://user@h/',
        'http://h/mcp#part',
      ].map((url) => [backend({ url }), 'backends[0].url: not an HTTP address']),
    },
    {
      fact: 'there are two transports',
      accepts: [backend({ transport: 'sse' })],
      refuses: [[backend({ transport: 'stdio' }), 'backends[0].transport: "stdio" is not a known value']],
    },
    {
      fact: 'the type is entry or empty',
      accepts: [backend({ type: 'entry' }), backend({ type: '' })],
      refuses: [[backend({ type: 'container' }), 'backends[0].type: "container" is not a known value']],
    },
    {
      fact: 'caBundlePath belongs to entries',
      accepts: [backend({ type: 'entry', caBundlePath: '/ca.crt' })],
      refuses: [
        [
          backend({ caBundlePath: '/ca.crt' }),
          'backends[0].caBundlePath: caBundlePath is allowed only with type entry',
        ],
        [backend({ type: '', caBundlePath: '/ca.crt' }), /only with type entry$/],
        [backend({ type: 'entry', caBundlePath: 'ca.crt' }), 'backends[0].caBundlePath: not an absolute path'],
      ],
    },
    {
      fact: 'metadata maps texts to texts',
      accepts: [backend({ metadata: { a: 'b' } })],
      refuses: [
        [
          backend({ metadata: { a: { b: 'c' } } }),
          'backends[0].metadata.a: must be a text, not a map of keys and values',
        ],
      ],
    },
    {
      fact: 'names are unique and fit into tool names',
      accepts: [backend({ name: 'a-b_C9' }), backend({ name: 'x'.repeat(63) })],
      refuses: [
        [
          { backends: [backend({}).backends[0], backend({}).backends[0]] },
          'backends[1].name: name "a" is already used by item 0',
        ],
        ...['a.b', '-a', 'a/b', 'a b'].map(
          (name) => [backend({ name }), 'backends[0].name: not a workload name'] as const,
        ),
        [backend({ name: 'x'.repeat(64) }), 'backends[0].name: must have at most 63 characters'],
        [backend({ name: '' }), 'backends[0].name: must not be empty', /not a workload name/],
      ],
    },
  ],
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
        [
          { incomingAuth: { type: 'anonymous', authz: { type: 'none', primaryUpstreamProvider: 'idp' } } },
          'incomingAuth.authz.primaryUpstreamProvider: no upstream provider is called "idp"',
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
        strategy({ type: 'obo' }),
        strategy({ type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValueEnv: 'KEY' } }),
        strategy({ type: 'bearer_token', bearerToken: { tokenFile: '/etc/token' } }),
        strategy({ type: 'token_exchange', tokenExchange: { tokenUrl: 'https://sts.example/token' } }),
        sts({ fallbackRoleArn: ARN }),
      ],
      refuses: [
        [strategy({}), 'outgoingAuth.default.type: is missing'],
        [strategy({ type: 'basic' }), /"basic" is not a known value/],
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
            tokenExchange: { tokenUrl: 'https://sts.example', clientSecret: 'a', clientSecretFile: '/b' },
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
      ],
      refuses: [
        [sts({}), 'outgoingAuth.default.cloudSts: at least one of fallbackRoleArn and roleMappings must be set'],
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
      ],
    },
  ],
  operational: [
    {
      fact: 'the log level is debug or empty',
      accepts: [{ operational: { logLevel: 'debug' } }, { operational: { logLevel: '' } }],
      refuses: [[{ operational: { logLevel: 'trace' } }, 'operational.logLevel: "trace" is not a known value']],
    },
    {
      fact: 'the partial failure mode has two words',
      accepts: [operational({ partialFailureMode: 'best_effort' })],
      refuses: [[operational({ partialFailureMode: 'ignore' }), /partialFailureMode: "ignore" is not a known value$/]],
    },
    {
      fact: 'thresholds start at 1 and the circuit waits at least 1s',
      accepts: [operational({ unhealthyThreshold: 1, circuitBreaker: { failureThreshold: 1, timeout: '1s' } })],
      refuses: [
        [operational({ unhealthyThreshold: 0 }), /unhealthyThreshold: must be at least 1$/],
        [operational({ circuitBreaker: { failureThreshold: 0 } }), /failureThreshold: must be at least 1$/],
        [operational({ circuitBreaker: { timeout: '999ms' } }), /circuitBreaker.timeout: must be at least 1s$/],
      ],
    },
  ],
  optimizer: [
    {
      fact: 'maxToolsToReturn is between 1 and 50',
      accepts: [optimizer({ maxToolsToReturn: 1 }), optimizer({ maxToolsToReturn: 50 })],
      refuses: [
        [optimizer({ maxToolsToReturn: 0 }), 'optimizer.maxToolsToReturn: must be at least 1'],
        [optimizer({ maxToolsToReturn: 51 }), 'optimizer.maxToolsToReturn: must be at most 50'],
      ],
    },
    {
      fact: 'ratio and distance are decimal texts within their ranges',
      accepts: [
        ...['0', '1', '0.5', '.5', '1.0'].map((hybridSearchSemanticRatio) => optimizer({ hybridSearchSemanticRatio })),
        ...['0', '2', '2.0', '0.75'].map((semanticDistanceThreshold) => optimizer({ semanticDistanceThreshold })),
      ],
      refuses: [
        ...['-0.1', '1.', 'half', ''].map(
          (value) =>
            [
              optimizer({ hybridSearchSemanticRatio: value }),
              /hybridSearchSemanticRatio: not a decimal number/,
            ] as const,
        ),
        [optimizer({ hybridSearchSemanticRatio: '1.1' }), /must be between 0 and 1$/],
        [optimizer({ semanticDistanceThreshold: '2.1' }), /must be between 0 and 2$/],
        [optimizer({ semanticDistanceThreshold: 'far' }), /not a decimal number/],
        [optimizer({ hybridSearchSemanticRatio: 0.5 }), /must be a text, not a number with decimals$/],
      ],
    },
  ],
  rateLimiting: [
    {
      fact: 'a bucket has a size and a period',
      accepts: [bucket({ maxTokens: 1 }), bucket({ maxTokens: 2_147_483_647 })],
      refuses: [
        [bucket({ maxTokens: 0 }), 'rateLimiting.shared.maxTokens: must be at least 1'],
        [bucket({ maxTokens: 1.5 }), /must be a whole number, not a number with decimals$/],
        [bucket({ maxTokens: 2_147_483_648 }), 'rateLimiting.shared.maxTokens: must be at most 2147483647'],
        [bucket({ maxTokens: undefined }), 'rateLimiting.shared.maxTokens: is missing'],
        [bucket({ refillPeriod: undefined }), 'rateLimiting.shared.refillPeriod: is missing'],
      ],
    },
    {
      fact: 'limited tools have a name each',
      refuses: [
        [{ rateLimiting: { tools: [{}] } }, 'rateLimiting.tools[0].name: is missing'],
        [{ rateLimiting: { tools: [{ name: '' }] } }, 'rateLimiting.tools[0].name: must not be empty'],
        [{ rateLimiting: { tools: [{ name: 'a' }, { name: 'a' }] } }, /name "a" is already used by item 0$/],
      ],
    },
    {
      fact: 'limits per user need users',
      accepts: [{ ...oidc({}), rateLimiting: { perUser: { maxTokens: 1, refillPeriod: '1s' } } }],
      refuses: [
        [
          { rateLimiting: { perUser: { maxTokens: 1, refillPeriod: '1s' } } },
          'rateLimiting.perUser: a limit per user needs callers who are authenticated',
        ],
        [
          { rateLimiting: { tools: [{ name: 'a', perUser: { maxTokens: 1, refillPeriod: '1s' } }] } },
          'rateLimiting.tools[0].perUser: a limit per user needs callers who are authenticated',
        ],
      ],
    },
  ],
  sessionStorage: [
    {
      fact: 'kvstore needs an address, memory does not',
      accepts: [
        { sessionStorage: { provider: 'memory' } },
        { sessionStorage: { provider: 'kvstore', address: 'kv:6379' } },
      ],
      refuses: [
        [{ sessionStorage: {} }, 'sessionStorage.provider: is missing'],
        [{ sessionStorage: { provider: 'file' } }, /"file" is not a known value$/],
        [{ sessionStorage: { provider: 'kvstore' } }, 'sessionStorage: provider kvstore needs address'],
        [{ sessionStorage: { provider: 'kvstore', address: '' } }, 'sessionStorage.address: must not be empty'],
        [{ sessionStorage: { provider: 'memory', db: -1 } }, 'sessionStorage.db: must be at least 0'],
        [
          { sessionStorage: { provider: 'memory', passwordRef: {} } },
          'sessionStorage.passwordRef: belongs in a VirtualMCPServer',
        ],
      ],
    },
  ],
  telemetry: [
    {
      fact: 'the sampling rate is between 0 and 1',
      accepts: ['0.0', '1.0', '0.05'].map((samplingRate) => ({ telemetry: { samplingRate } })),
      refuses: [
        [{ telemetry: { samplingRate: '1.5' } }, 'telemetry.samplingRate: must be between 0 and 1'],
        [{ telemetry: { samplingRate: '-0.1' } }, 'telemetry.samplingRate: not a decimal number in quotes'],
      ],
    },
  ],
  'what the file alone has': [
    {
      fact: 'hosts and origins have their form',
      accepts: [{ extensions: { allowedHosts: ['a.example'], allowedOrigins: ['http://a.example:80'] } }],
      refuses: [
        [{ extensions: { allowedHosts: ['http://a'] } }, 'extensions.allowedHosts[0]: not a host name'],
        [{ extensions: { allowedOrigins: ['https://a/x'] } }, 'extensions.allowedOrigins[0]: not an origin'],
        [{ extensions: { sessionTTL: '1h' } }, /extensions\.sessionTTL: unknown key/],
        [{ extensions: { sessionTtl: '25h' } }, 'extensions.sessionTtl: must be at most 24h'],
        [{ extensions: { sessionTtl: '59s' } }, 'extensions.sessionTtl: must be at least 1m'],
      ],
    },
    {
      fact: 'keys of the operator need an audience',
      refuses: [
        [
          { management: { operatorKeys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AA' }] } },
          'management.operatorKeys: operatorKeys needs audience',
        ],
        [
          { management: { audience: 'a', operatorKeys: [{ kty: 'RSA' }] } },

          /crv: is missing/,
          /x: is missing/,
          /kty: "RSA"/,
        ],
      ],
    },
    {
      fact: 'the format version starts at 1',
      refuses: [
        [{ formatVersion: 0 }, 'formatVersion: must be at least 1'],
        [{ formatVersion: '1' }, 'formatVersion: must be a whole number, not a text'],
      ],
    },
    {
      fact: 'compositeToolRefs are refused',
      refuses: [[{ compositeToolRefs: [{ name: 'a' }] }, 'compositeToolRefs: belongs in a VirtualMCPServer']],
    },
  ],
  durations: [
    durations(
      'operational.timeouts.default',
      (value) => ({ operational: { timeouts: { default: value } } }),
      'no zero',
    ),
    durations(
      'operational.timeouts.perWorkload.a',
      (a) => ({ operational: { timeouts: { perWorkload: { a } } } }),
      'no zero',
    ),
    ...['healthCheckInterval', 'healthCheckTimeout', 'statusReportingInterval'].map((key) =>
      durations(`operational.failureHandling.${key}`, (value) => operational({ [key]: value }), 'no zero'),
    ),
    durations(
      'operational.failureHandling.circuitBreaker.timeout',
      (timeout) => operational({ circuitBreaker: { timeout } }),
      'no zero',
    ),
    durations('optimizer.embeddingServiceTimeout', (value) => optimizer({ embeddingServiceTimeout: value }), 'no zero'),
    durations('rateLimiting.shared.refillPeriod', (refillPeriod) => bucket({ refillPeriod }), 'no zero'),
    durations(
      'rateLimiting.tools[0].shared.refillPeriod',
      (refillPeriod) => ({ rateLimiting: { tools: [{ name: 'a', shared: { maxTokens: 1, refillPeriod } }] } }),
      'no zero',
    ),
  ],
};

covers(
  'authz.config.primary-upstream.must-match',
  'crd.config.header-injection.value-exclusive',
  'limits.semantic-ratio-range',
  'limits.semantic-distance-range',
  'ratelimit.per-user.requires-auth',
  'ratelimit.tools.per-user-requires-auth',
  'telemetry.sampling-rate.range',
);
for (const [section, facts] of Object.entries(cases)) {
  suite(section, () => {
    for (const each of facts) test(each.fact, () => check(each));
  });
}

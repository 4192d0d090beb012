import { covers } from '../../requirements.ts';
import { type Case, oidc, sections } from './sections.ts';

const operational = (failureHandling: object) => ({ operational: { failureHandling } });
const optimizer = (more: object) => ({ optimizer: more });
const bucket = (more: object) => ({ rateLimiting: { shared: { maxTokens: 5, refillPeriod: '1m', ...more } } });

const NOT_A_DURATION = 'not a duration';
/** None of them may be zero. */
const durations = (path: string, file: (value: unknown) => Readonly<Record<string, unknown>>): Case => ({
  fact: `${path} is a duration`,
  accepts: [file('1m30s'), file('1.5h')],
  refuses: [
    [file('1d'), `${path}: ${NOT_A_DURATION}`],
    [file('30'), `${path}: ${NOT_A_DURATION}`],
    [file(''), `${path}: ${NOT_A_DURATION}`],
    [file(30), `${path}: not a text such as 30s`],
    [file('0s'), /(more than zero|at least 1s)$/],
  ],
});

covers(
  'limits.semantic-ratio-range',
  'limits.semantic-distance-range',
  'ratelimit.per-user.requires-auth',
  'ratelimit.tools.per-user-requires-auth',
  'telemetry.sampling-rate.range',
);
sections({
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
      accepts: [
        bucket({ maxTokens: 1 }),
        bucket({ maxTokens: 2_147_483_647 }),
        bucket({ refillPeriod: '1ns' }),
        bucket({ refillPeriod: '4320h' }),
      ],
      refuses: [
        [bucket({ maxTokens: 0 }), 'rateLimiting.shared.maxTokens: must be at least 1'],
        [bucket({ maxTokens: 1.5 }), /must be a whole number, not a number with decimals$/],
        [bucket({ maxTokens: 2_147_483_648 }), 'rateLimiting.shared.maxTokens: must be at most 2147483647'],
        [bucket({ maxTokens: undefined }), 'rateLimiting.shared.maxTokens: is missing'],
        [bucket({ refillPeriod: undefined }), 'rateLimiting.shared.refillPeriod: is missing'],
        [bucket({ refillPeriod: '4320h1ns' }), 'rateLimiting.shared.refillPeriod: must be at most 4320h'],
      ],
    },
    {
      fact: 'what limits do without their store is one of three',
      accepts: ['local', 'deny', 'allow'].map((whenStoreUnavailable) => ({
        extensions: { rateLimiting: { whenStoreUnavailable } },
      })),
      refuses: [
        [
          { extensions: { rateLimiting: { whenStoreUnavailable: 'open' } } },
          /^extensions\.rateLimiting\.whenStoreUnavailable: /,
        ],
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
    {
      fact: 'an endpoint is an address, and its scheme does not contradict insecure',
      accepts: [
        { telemetry: { endpoint: 'collector:4318', insecure: true } },
        { telemetry: { endpoint: 'http://collector:4318/base', insecure: true } },
        { telemetry: { endpoint: 'https://collector.example.com' } },
        { telemetry: { endpoint: 'http://collector:4318' } },
        { telemetry: { endpoint: '[2001:db8::1]:4318' } },
      ],
      refuses: [
        [{ telemetry: { endpoint: 'https://c', insecure: true } }, /^telemetry\.endpoint: says https:\/\/ while/],
        [{ telemetry: { endpoint: 'grpc://c' } }, 'telemetry.endpoint: is no address'],
        [{ telemetry: { endpoint: 'a b' } }, 'telemetry.endpoint: is no address'],
        [{ telemetry: { endpoint: 'https://u:p@c' } }, /^telemetry\.endpoint: has more than scheme, host/],
        [{ telemetry: { endpoint: 'https://c/?key=k' } }, /^telemetry\.endpoint: has more than scheme, host/],
      ],
    },
    {
      fact: 'headers are those that an export may have',
      accepts: [{ telemetry: { headers: { 'X-Tenant': 'a' }, headerFiles: { authorization: '/etc/header' } } }],
      refuses: [
        [{ telemetry: { headers: { 'a b': 'c' } } }, /is no header name$/],
        [{ telemetry: { headers: { Host: 'c' } } }, /belongs to the connection or to OTLP$/],
        [{ telemetry: { headers: { a: 'c\nd: e' } } }, /has characters that no header has$/],
        [{ telemetry: { headers: { A: 'c' }, headerFiles: { a: '/etc/header' } } }, /is written twice$/],
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
    {
      fact: 'what is said of a Service is refused, under extensions alone as what belongs in a resource',
      refuses: [
        [
          { extensions: { service: { labels: { team: 'a' } } } },
          'extensions.service: belongs in a VirtualMCPServer, for which the operator makes a Service',
        ],
        [{ service: {} }, 'service: unknown key'],
        [{ constructor: {} }, 'constructor: unknown key'],
      ],
    },
  ],
  durations: [
    durations('operational.timeouts.default', (value) => ({ operational: { timeouts: { default: value } } })),
    durations('operational.timeouts.perWorkload.a', (a) => ({ operational: { timeouts: { perWorkload: { a } } } })),
    ...['healthCheckInterval', 'healthCheckTimeout', 'statusReportingInterval'].map((key) =>
      durations(`operational.failureHandling.${key}`, (value) => operational({ [key]: value })),
    ),
    durations('operational.failureHandling.circuitBreaker.timeout', (timeout) =>
      operational({ circuitBreaker: { timeout } }),
    ),
    durations('optimizer.embeddingServiceTimeout', (value) => optimizer({ embeddingServiceTimeout: value })),
    durations('rateLimiting.shared.refillPeriod', (refillPeriod) => bucket({ refillPeriod })),
    durations('rateLimiting.tools[0].shared.refillPeriod', (refillPeriod) => ({
      rateLimiting: { tools: [{ name: 'a', shared: { maxTokens: 1, refillPeriod } }] },
    })),
  ],
});

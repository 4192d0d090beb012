import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED, TEXT } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const set = (path: string, value: unknown) => ({ [`config.${path}`]: value });

const backend = { name: 'github', url: 'https://mcp.example.com/mcp', transport: 'streamable-http' };
const without = (key: string, object: Readonly<Record<string, unknown>>) => ({ ...object, [key]: undefined });
const backends = (changes: Readonly<Record<string, unknown>>) => set('backends', [{ ...backend, ...changes }]);

export const generalConfigCases = [
  accepts({ of: 'crd.config.name', set: set('name', 'tools') }, { 'config.name': 'tools' }),
  refuses({ of: 'crd.config.name', set: set('name', 7) }, 'spec.config.name', TEXT),
  accepts(
    { of: 'crd.config.aggregation.conflict-resolution-default', set: set('aggregation', {}) },
    { 'config.aggregation.conflictResolution': 'prefix' },
  ),
  accepts(
    { of: 'crd.config.metadata', set: set('metadata', { team: 'search' }) },
    { 'config.metadata.team': 'search' },
  ),
  refuses({ set: set('metadata', { team: 1 }) }, 'spec.config.metadata.team', TEXT),
  refuses(
    { of: 'crd.config.metadata', set: set('metadata', { team: { a: 1 } }) },
    'spec.config.metadata.team.a',
    'unknown field',
  ),
  refuses(
    { of: 'crd.config.composite-tool-refs.name-required', set: set('compositeToolRefs', [{}]) },
    'spec.config.compositeToolRefs[0].name',
    REQUIRED,
  ),
  accepts({
    of: 'crd.config.session-storage.no-password-ref',
    set: set('sessionStorage', { provider: 'kvstore', address: 'valkey:6379', db: 1, keyPrefix: 'a:' }),
  }),
  refuses(
    {
      of: 'crd.config.session-storage.no-password-ref',
      set: set('sessionStorage', { provider: 'memory', passwordRef: { name: 'a', key: 'b' } }),
    },
    'spec.config.sessionStorage.passwordRef',
    'unknown field',
  ),
  refuses(
    { of: 'crd.config.session-storage.provider-required', set: set('sessionStorage', {}) },
    'spec.config.sessionStorage.provider',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.session-storage.provider-enum', set: set('sessionStorage', { provider: 'redis' }) },
    'spec.config.sessionStorage.provider',
    ENUM,
  ),
  refuses(
    { of: 'crd.config.session-storage.address-required-kvstore', set: set('sessionStorage', { provider: 'kvstore' }) },
    'spec.config.sessionStorage',
    'provider kvstore needs address',
  ),
  refuses(
    {
      of: 'crd.config.session-storage.address-min-length',
      set: set('sessionStorage', { provider: 'kvstore', address: '' }),
    },
    'spec.config.sessionStorage.address',
    EMPTY,
  ),
  accepts(
    { of: 'crd.config.session-storage.db-default', set: set('sessionStorage', { provider: 'memory' }) },
    { 'config.sessionStorage.db': 0 },
  ),
  refuses(
    {
      of: 'crd.config.session-storage.db-default',
      set: set('sessionStorage', { provider: 'memory', db: 2_147_483_648 }),
    },
    'spec.config.sessionStorage.db',
    'int32',
  ),
  refuses(
    { of: 'crd.config.session-storage.db-min', set: set('sessionStorage', { provider: 'memory', db: -1 }) },
    'spec.config.sessionStorage.db',
    'should be greater than or equal to 0',
  ),
  accepts({
    set: set('extensions', { allowedOrigins: ['https://app.example.com'], allowedHosts: ['tools.example.com'] }),
  }),
  accepts({ set: set('extensions', { sessionStore: { tls: {}, sentinel: { masterName: 'main' } } }) }),
  refuses(
    { set: set('extensions', { sessionStore: { cluster: {}, sentinel: { masterName: 'main' } } }) },
    'spec.config.extensions.sessionStore',
    'sentinel and cluster exclude each other',
  ),
  accepts(
    { set: set('extensions', { streamResumption: {} }) },
    { 'config.extensions.streamResumption.maxBytes': 262_144 },
  ),
  accepts(
    { set: set('extensions', { perWorkload: { github: { calls: 20 } } }) },
    { 'config.extensions.callsPerBackend': 512, 'config.extensions.perWorkload.github.calls': 20 },
  ),
  refuses(
    { set: set('extensions', { callsPerBackend: 0 }) },
    'spec.config.extensions.callsPerBackend',
    'should be greater than or equal to 1',
  ),
  refuses(
    { set: set('extensions', { perWorkload: { github: { calls: 2_049 } } }) },
    'spec.config.extensions.perWorkload.github.calls',
    'should be less than or equal to 2048',
  ),
  accepts({ set: set('extensions', { sessionTtl: '1h30m' }) }),
  refuses(
    { set: set('extensions', { sessionTtl: '59s' }) },
    'spec.config.extensions.sessionTtl',
    'must be at least 1m; write 1m or more',
  ),
  refuses(
    { set: set('extensions', { sessionTtl: '25h' }) },
    'spec.config.extensions.sessionTtl',
    'must be at most 24h; write 24h or less',
  ),
  accepts({ set: set('extensions', { rateLimiting: { whenStoreUnavailable: 'deny' } }) }),
  accepts(
    { set: set('extensions', { rateLimiting: {} }) },
    { 'config.extensions.rateLimiting.whenStoreUnavailable': 'local' },
  ),
  refuses(
    { set: set('extensions', { rateLimiting: { whenStoreUnavailable: 'open' } }) },
    'spec.config.extensions.rateLimiting.whenStoreUnavailable',
    ENUM,
  ),
  accepts(
    { set: set('extensions', { audit: { mode: 'blocking-strict', redact: ['iban'] } }) },
    { 'config.extensions.audit.bufferSize': 10_000 },
  ),
  refuses(
    { set: set('extensions', { audit: { mode: 'sometimes' } }) },
    'spec.config.extensions.audit.mode',
    'Unsupported value',
  ),
  refuses(
    { set: set('extensions', { audit: { batchMaxWait: '100us' } }) },
    'spec.config.extensions.audit.batchMaxWait',
    'must be at least 1ms; write 1ms or more',
  ),
  refuses(
    { set: set('extensions', { audit: { batchMaxWait: '31s' } }) },
    'spec.config.extensions.audit.batchMaxWait',
    'must be at most 30s; write 30s or less',
  ),
  accepts({ set: set('extensions', { authServer: { refreshReuseWindow: '0s' } }) }),
  accepts({ set: set('extensions', { authServer: { upstreams: { github: { signIn: 'onDemand' } } } }) }),
  refuses(
    { set: set('extensions', { authServer: { upstreams: { github: { signIn: 'later' } } } }) },
    'spec.config.extensions.authServer.upstreams.github.signIn',
    ENUM,
  ),
  refuses(
    { set: set('extensions', { authServer: { refreshReuseWindow: '61s' } }) },
    'spec.config.extensions.authServer.refreshReuseWindow',
    'must be at most 60s; write 60s or less',
  ),
  accepts({ set: set('extensions', { heldCallTtl: '10m', clientEra: 'legacy' }) }),
  refuses(
    { set: set('extensions', { heldCallTtl: '9s' }) },
    'spec.config.extensions.heldCallTtl',
    'must be at least 10s; write 10s or more',
  ),
  refuses(
    { set: set('extensions', { heldCallTtl: '31m' }) },
    'spec.config.extensions.heldCallTtl',
    'must be at most 30m; write 30m or less',
  ),
  accepts({ set: set('extensions', { optimizer: { queryTimeout: '1s' } }) }),
  refuses(
    { set: set('extensions', { optimizer: { queryTimeout: '29ms' } }) },
    'spec.config.extensions.optimizer.queryTimeout',
    'must be at least 30ms; write 30ms or more',
  ),
  refuses(
    { set: set('extensions', { optimizer: { queryTimeout: '11s' } }) },
    'spec.config.extensions.optimizer.queryTimeout',
    'must be at most 10s; write 10s or less',
  ),
  refuses({ set: set('extensions', { unheardOf: true }) }, 'spec.config.extensions.unheardOf', 'unknown field'),
];

const service = (value: unknown) => ({ set: set('extensions', { service: value }) });
const SERVICE = 'spec.config.extensions.service';
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

export const serviceMetadataCases = [
  accepts(service({}), { 'config.extensions.service': {} }),
  accepts(
    service({
      annotations: { 'external-dns.alpha.kubernetes.io/hostname': 'mcp.example.com', note: '' },
      labels: { 'app.kubernetes.io/part-of': 'search', team: '' },
    }),
  ),
  accepts(service({ annotations: many(64), labels: many(64) })),
  refuses(service({ annotations: many(65) }), `${SERVICE}.annotations`, 'must have at most 64 items'),
  refuses(service({ labels: many(65) }), `${SERVICE}.labels`, 'must have at most 64 items'),
  refuses(service({ labels: { team: '-a' } }), `${SERVICE}.labels.team`, 'should match'),
  refuses(service({ labels: { team: 'a'.repeat(64) } }), `${SERVICE}.labels.team`, 'may not be more than 63'),
  refuses(service({ annotations: { n: 1 } }), `${SERVICE}.annotations.n`, TEXT),
  refuses(service({ selector: {} }), `${SERVICE}.selector`, 'unknown field'),
  ...['vmcp.dev/team', 'app.kubernetes.io/name', 'app.kubernetes.io/managed-by'].map((label) =>
    refuses(service({ labels: { [label]: 'a' } }), `${SERVICE}.labels`, "are the operator's; give yours other keys"),
  ),
  ...['vmcp.dev/note', 'kubectl.kubernetes.io/last-applied-configuration'].map((annotation) =>
    refuses(service({ annotations: { [annotation]: 'a' } }), `${SERVICE}.annotations`, 'give yours other keys'),
  ),
];

const aggregation = (value: unknown) => set('aggregation', value);

export const aggregationCases = [
  accepts({ set: aggregation({}) }, { 'config.aggregation.conflictResolution': 'prefix' }),
  accepts(
    { set: aggregation({ conflictResolutionConfig: {} }) },
    { 'config.aggregation.conflictResolutionConfig.prefixFormat': '{workload}_' },
  ),
  ...['prefix', 'priority', 'manual'].map((conflictResolution) =>
    accepts({ of: 'crd.config.aggregation.conflict-resolution-enum', set: aggregation({ conflictResolution }) }),
  ),
  refuses(
    { of: 'crd.config.aggregation.conflict-resolution-enum', set: aggregation({ conflictResolution: 'random' }) },
    'spec.config.aggregation.conflictResolution',
    ENUM,
  ),
  refuses(
    { of: 'crd.config.aggregation.tools.workload-required', set: aggregation({ tools: [{}] }) },
    'spec.config.aggregation.tools[0].workload',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.aggregation.tools.tool-config-ref-name-required',
      set: aggregation({ tools: [{ workload: 'a', toolConfigRef: {} }] }),
    },
    'spec.config.aggregation.tools[0].toolConfigRef.name',
    REQUIRED,
  ),
  refuses(
    { set: aggregation({ tools: [{ workload: 'a' }, { workload: 'a' }] }) },
    'spec.config.aggregation.tools[1]',
    'Duplicate value',
  ),
  accepts({
    set: aggregation({
      tools: [{ workload: 'a', filter: ['x'], overrides: { x: { name: 'y', annotations: { readOnlyHint: true } } } }],
    }),
  }),
];

export const backendCases = [
  refuses(
    { of: 'crd.config.backends.name-required', set: set('backends', [without('name', backend)]) },
    'spec.config.backends[0].name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.backends.url-required', set: set('backends', [without('url', backend)]) },
    'spec.config.backends[0].url',
    REQUIRED,
  ),
  accepts({ of: 'crd.config.backends.url-http', set: backends({ url: 'http://server:3001/mcp' }) }),
  accepts({ of: 'crd.config.backends.url-https', set: backends({ url: 'https://mcp.example.com' }) }),
  refuses(
    { of: 'crd.config.backends.url-other-scheme', set: backends({ url: 'ftp://h' }) },
    'spec.config.backends[0].url',
    'should match',
  ),
  refuses(
    { of: 'crd.config.backends.url-other-scheme', set: backends({ url: 'host:80' }) },
    'spec.config.backends[0].url',
    'should match',
  ),
  refuses(
    { of: 'crd.config.backends.transport-required', set: set('backends', [without('transport', backend)]) },
    'spec.config.backends[0].transport',
    REQUIRED,
  ),
  accepts({ of: 'crd.config.backends.transport-enum', set: backends({ transport: 'sse' }) }),
  refuses(
    { of: 'crd.config.backends.transport-enum', set: backends({ transport: 'stdio' }) },
    'spec.config.backends[0].transport',
    ENUM,
  ),
  accepts({ of: 'crd.config.backends.type-enum', set: backends({ type: 'entry' }) }),
  accepts({ of: 'crd.config.backends.type-enum', set: backends({ type: '' }) }),
  refuses(
    { of: 'crd.config.backends.type-enum', set: backends({ type: 'proxy' }) },
    'spec.config.backends[0].type',
    ENUM,
  ),
  accepts({
    of: 'crd.config.backends.ca-bundle-only-entry',
    set: backends({ type: 'entry', caBundlePath: '/ca/ca.crt' }),
  }),
  refuses(
    { of: 'crd.config.backends.ca-bundle-only-entry', set: backends({ type: '', caBundlePath: '/ca/ca.crt' }) },
    'spec.config.backends[0].caBundlePath',
    'caBundlePath is allowed only with type entry',
  ),
  accepts({ of: 'crd.config.backends.metadata', set: backends({ metadata: { a: 'b' } }) }),
  refuses(
    { of: 'crd.config.backends.metadata', set: backends({ metadata: { a: { b: 1 } } }) },
    'spec.config.backends[0].metadata.a.b',
    'unknown field',
  ),
  refuses({ set: set('backends', [backend, backend]) }, 'spec.config.backends[1]', 'Duplicate value'),
];

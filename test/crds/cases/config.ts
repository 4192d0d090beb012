import { casesOf } from '../case.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const REQUIRED = 'Required value';
const ENUM = 'Unsupported value';
const EMPTY = 'should be at least 1 chars long';
const TEXT = 'must be of type string';
const set = (path: string, value: unknown) => ({ [`config.${path}`]: value });

const backend = { name: 'github', url: 'https://mcp.example.com/mcp', transport: 'streamable-http' };
const without = (key: string, object: Readonly<Record<string, unknown>>) => ({ ...object, [key]: undefined });
const backends = (changes: Readonly<Record<string, unknown>>) => set('backends', [{ ...backend, ...changes }]);

export const generalConfigCases = [
  accepts({ set: set('name', 'tools') }, { 'config.name': 'tools' }),
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
  refuses({ set: set('extensions', { unheardOf: true }) }, 'spec.config.extensions.unheardOf', 'unknown field'),
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

const step = { id: 'a', tool: 'github.search' };
const workflow = (changes: Readonly<Record<string, unknown>>) =>
  set('compositeTools', [{ name: 'report', steps: [step], ...changes }]);
const steps = (changes: Readonly<Record<string, unknown>>) => workflow({ steps: [{ ...step, ...changes }] });
const question = { id: 'a', type: 'elicitation', message: 'Go on?' };
const loop = { id: 'a', type: 'forEach', collection: '{{ .params.items }}', step: { tool: 'github.search' } };
const STEP = 'spec.config.compositeTools[0].steps[0]';

export const workflowCases = [
  accepts({ set: workflow({}) }, { 'config.compositeTools[0].steps[0].type': 'tool' }),
  refuses(
    { of: 'crd.config.composite-tools.name-required', set: set('compositeTools', [{ steps: [step] }]) },
    'spec.config.compositeTools[0].name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.composite-tools.steps-required', set: set('compositeTools', [{ name: 'report' }]) },
    'spec.config.compositeTools[0].steps',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.composite-tools.output-properties-required', set: workflow({ output: {} }) },
    'spec.config.compositeTools[0].output.properties',
    REQUIRED,
  ),
  ...['string', 'integer', 'number', 'boolean', 'object', 'array'].map((type) =>
    accepts({
      of: 'crd.config.composite-tools.output-type-enum',
      set: workflow({ output: { properties: { a: { type } } } }),
    }),
  ),
  refuses(
    {
      of: 'crd.config.composite-tools.output-type-enum',
      set: workflow({ output: { properties: { a: { type: 'date' } } } }),
    },
    'spec.config.compositeTools[0].output.properties.a.type',
    ENUM,
  ),
  refuses({ of: 'crd.config.steps.id-required', set: workflow({ steps: [{ tool: 'a.b' }] }) }, `${STEP}.id`, REQUIRED),
  accepts({ of: 'crd.config.steps.type-enum', set: workflow({ steps: [question] }) }),
  accepts(
    { of: 'crd.config.steps.type-enum', set: workflow({ steps: [loop] }) },
    { 'config.compositeTools[0].steps[0].maxIterations': 100, 'config.compositeTools[0].steps[0].itemVar': 'item' },
  ),
  refuses({ of: 'crd.config.steps.type-enum', set: steps({ type: 'script' }) }, `${STEP}.type`, ENUM),
  ...[{ a: [1] }, ['a'], 'text', 7].map((defaultResults) =>
    accepts(
      { of: 'crd.config.steps.default-results-any', set: steps({ defaultResults }) },
      { 'config.compositeTools[0].steps[0].defaultResults': defaultResults },
    ),
  ),
  ...['abort', 'continue'].map((action) =>
    accepts({ of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action } }) }),
  ),
  accepts({ of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action: 'retry', retryCount: 2 } }) }),
  refuses(
    { of: 'crd.config.steps.on-error.action-enum', set: steps({ onError: { action: 'panic' } }) },
    `${STEP}.onError.action`,
    ENUM,
  ),
  refuses({ set: steps({ onError: { action: 'retry' } }) }, `${STEP}.onError`, 'action retry needs retryCount'),
  accepts({ set: steps({ onError: {} }) }, { 'config.compositeTools[0].steps[0].onError.action': 'abort' }),
  ...['skip_remaining', 'abort', 'continue'].flatMap((action) => [
    accepts({
      of: 'crd.config.steps.on-decline.action-enum',
      set: workflow({ steps: [{ ...question, onDecline: { action } }] }),
    }),
    accepts({
      of: 'crd.config.steps.on-cancel.action-enum',
      set: workflow({ steps: [{ ...question, onCancel: { action } }] }),
    }),
  ]),
  refuses(
    {
      of: 'crd.config.steps.on-decline.action-enum',
      set: workflow({ steps: [{ ...question, onDecline: { action: 'retry' } }] }),
    },
    `${STEP}.onDecline.action`,
    ENUM,
  ),
  refuses(
    {
      of: 'crd.config.steps.on-cancel.action-enum',
      set: workflow({ steps: [{ ...question, onCancel: { action: 'retry' } }] }),
    },
    `${STEP}.onCancel.action`,
    ENUM,
  ),
  refuses({ set: workflow({ steps: [{ id: 'a' }] }) }, STEP, 'type tool needs tool'),
  refuses({ set: workflow({ steps: [{ id: 'a', type: 'elicitation' }] }) }, STEP, 'type elicitation needs message'),
  refuses({ set: workflow({ steps: [{ ...loop, collection: undefined }] }) }, STEP, 'type forEach needs collection'),
  refuses({ set: workflow({ steps: [{ ...loop, step: undefined }] }) }, STEP, 'type forEach needs step'),
  refuses(
    { of: 'workflow.foreach.inner-tool-only', set: workflow({ steps: [{ ...loop, step: { type: 'elicitation' } }] }) },
    `${STEP}.step.type`,
    ENUM,
  ),
  refuses({ set: workflow({ steps: [loop, loop] }) }, 'spec.config.compositeTools[0].steps[1]', 'Duplicate value'),
  refuses(
    { of: 'workflow.foreach.cap-1000', set: workflow({ steps: [{ ...loop, maxIterations: 1001 }] }) },
    `${STEP}.maxIterations`,
    '1000',
  ),
  refuses({ of: 'workflow.step.tool-format', set: steps({ tool: 'search' }) }, `${STEP}.tool`, 'should match'),
];

const oidc = { issuer: 'https://login.example.com', audience: 'tools', clientId: 'tools' };
const incomingOidc = (changes: Readonly<Record<string, unknown>>) =>
  set('incomingAuth', { type: 'oidc', oidc: { ...oidc, ...changes } });
const OIDC = 'spec.config.incomingAuth.oidc';

export const configIncomingCases = [
  refuses(
    { of: 'crd.config.incoming-auth.type-required', set: set('incomingAuth', {}) },
    'spec.config.incomingAuth.type',
    REQUIRED,
  ),
  ...['local', 'anonymous'].map((type) =>
    accepts({ of: 'crd.config.incoming-auth.type-enum', set: set('incomingAuth', { type }) }),
  ),
  accepts({
    of: ['crd.config.incoming-auth.type-enum', 'crd.config.incoming-auth.authz-optional'],
    set: incomingOidc({}),
  }),
  refuses(
    { of: 'crd.config.incoming-auth.type-enum', set: set('incomingAuth', { type: 'basic' }) },
    'spec.config.incomingAuth.type',
    ENUM,
  ),
  refuses({ set: set('incomingAuth', { type: 'oidc' }) }, 'spec.config.incomingAuth', 'type oidc needs oidc'),
  refuses(
    { of: 'crd.config.incoming-auth.authz-type-required', set: set('incomingAuth', { type: 'anonymous', authz: {} }) },
    'spec.config.incomingAuth.authz.type',
    REQUIRED,
  ),
  accepts({
    of: 'crd.config.incoming-auth.authz-type-enum',
    set: set('incomingAuth', { type: 'anonymous', authz: { type: 'none' } }),
  }),
  accepts({
    of: 'crd.config.incoming-auth.authz-type-enum',
    set: set('incomingAuth', { type: 'anonymous', authz: { type: 'cedar', policies: [] } }),
  }),
  refuses(
    {
      of: 'crd.config.incoming-auth.authz-type-enum',
      set: set('incomingAuth', { type: 'anonymous', authz: { type: 'opa' } }),
    },
    'spec.config.incomingAuth.authz.type',
    ENUM,
  ),
  refuses(
    { of: 'crd.config.oidc.audience-required', set: incomingOidc({ audience: undefined }) },
    `${OIDC}.audience`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.oidc.client-id-required', set: incomingOidc({ clientId: undefined }) },
    `${OIDC}.clientId`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.oidc.issuer-required', set: incomingOidc({ issuer: undefined }) },
    `${OIDC}.issuer`,
    REQUIRED,
  ),
  accepts({ of: 'crd.config.oidc.issuer-scheme', set: incomingOidc({ issuer: 'http://login.example.com' }) }),
  refuses(
    { of: 'crd.config.oidc.issuer-scheme', set: incomingOidc({ issuer: 'login.example.com' }) },
    `${OIDC}.issuer`,
    'should match',
  ),
  accepts({
    of: 'crd.config.oidc.protected-resource-allow-private-ip',
    set: incomingOidc({ protectedResourceAllowPrivateIp: true }),
  }),
  refuses(
    {
      of: 'crd.config.oidc.protected-resource-allow-private-ip',
      set: incomingOidc({ protectedResourceAllowPrivateIp: 'yes' }),
    },
    `${OIDC}.protectedResourceAllowPrivateIp`,
    'boolean',
  ),
];

const strategy = (value: unknown) => set('outgoingAuth', { source: 'inline', default: value });
const header = (headerInjection: unknown) => strategy({ type: 'header_injection', headerInjection });
const exchange = (tokenExchange: unknown) => strategy({ type: 'token_exchange', tokenExchange });
const sts = (cloudSts: unknown) => strategy({ type: 'cloud_sts', cloudSts });
const DEFAULT = 'spec.config.outgoingAuth.default';
const role = 'arn:aws:iam::123456789012:role/tools';

export const strategyCases = [
  refuses(
    { of: 'crd.config.outgoing-auth.source-required', set: set('outgoingAuth', {}) },
    'spec.config.outgoingAuth.source',
    REQUIRED,
  ),
  ...['inline', 'discovered'].map((source) =>
    accepts({ of: 'crd.config.outgoing-auth.source-enum', set: set('outgoingAuth', { source }) }),
  ),
  refuses(
    { of: 'crd.config.outgoing-auth.source-enum', set: set('outgoingAuth', { source: 'mixed' }) },
    'spec.config.outgoingAuth.source',
    ENUM,
  ),
  refuses({ of: 'crd.config.strategy.type-required', set: strategy({}) }, `${DEFAULT}.type`, REQUIRED),
  accepts({ of: 'crd.config.strategy.type-enum', set: strategy({ type: 'unauthenticated' }) }),
  accepts({ of: 'crd.config.strategy.type-enum', set: header({ headerName: 'X-Key', headerValueEnv: 'KEY' }) }),
  accepts({ of: 'crd.config.strategy.type-enum', set: exchange({ tokenUrl: 'https://sts.example.com/token' }) }),
  accepts({
    of: 'crd.config.strategy.type-enum',
    set: strategy({ type: 'upstream_inject', upstreamInject: { providerName: 'idp' } }),
  }),
  accepts({ of: 'crd.config.strategy.type-enum', set: sts({ region: 'us-east-1', fallbackRoleArn: role }) }),
  accepts({
    of: ['crd.config.strategy.type-enum', 'crd.config.strategy.obo-accepted'],
    set: strategy({ type: 'obo' }),
  }),
  ...['bearer_token', 'magic'].map((type) =>
    refuses({ of: 'crd.config.strategy.type-enum', set: strategy({ type }) }, `${DEFAULT}.type`, ENUM),
  ),
  refuses(
    { of: 'crd.config.header-injection.name-required', set: header({ headerValueEnv: 'KEY' }) },
    `${DEFAULT}.headerInjection.headerName`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.header-injection.value-exclusive',
      set: header({ headerName: 'X-Key', headerValue: 'a', headerValueEnv: 'KEY' }),
    },
    `${DEFAULT}.headerInjection`,
    'exactly one of headerValue and headerValueEnv must be set',
  ),
  refuses(
    { set: header({ headerName: 'X-Key', headerValue: 'a' }) },
    `${DEFAULT}.headerInjection.headerValue`,
    'headerValue would put a secret into the resource',
  ),
  refuses(
    { set: exchange({ tokenUrl: 'https://sts.example.com/token', clientSecret: 'a' }) },
    `${DEFAULT}.tokenExchange.clientSecret`,
    'clientSecret would put a secret into the resource',
  ),
  refuses(
    {
      set: set('outgoingAuth', {
        source: 'inline',
        backends: { github: { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'a' } } },
      }),
    },
    'spec.config.outgoingAuth.backends.github.headerInjection.headerValue',
    'put it into a Secret',
  ),
  refuses(
    { of: 'crd.config.token-exchange.token-url-required', set: exchange({}) },
    `${DEFAULT}.tokenExchange.tokenUrl`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.upstream-inject.provider-name-required',
      set: strategy({ type: 'upstream_inject', upstreamInject: {} }),
    },
    `${DEFAULT}.upstreamInject.providerName`,
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.cloud-sts.region-required', set: sts({ fallbackRoleArn: role }) },
    `${DEFAULT}.cloudSts.region`,
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.cloud-sts.role-mapping-arn-required',
      set: sts({ region: 'us-east-1', roleMappings: [{ claim: 'a' }] }),
    },
    `${DEFAULT}.cloudSts.roleMappings[0].roleArn`,
    REQUIRED,
  ),
  refuses({ set: strategy({ type: 'header_injection' }) }, DEFAULT, 'type header_injection needs headerInjection'),
  refuses(
    { set: strategy({ type: 'unauthenticated', upstreamInject: { providerName: 'idp' } }) },
    `${DEFAULT}.upstreamInject`,
    'upstreamInject is allowed only with type upstream_inject',
  ),
];

const failure = (value: unknown) => set('operational', { failureHandling: value });
const breaker = (value: unknown) => failure({ circuitBreaker: value });
const FAILURE = 'spec.config.operational.failureHandling';
const optimizer = (value: unknown) => ({ embeddingServerRef: { name: 'vectors' }, ...set('optimizer', value) });
const bucket = { maxTokens: 5, refillPeriod: '1m' };
const limit = (changes: Readonly<Record<string, unknown>>) =>
  set('rateLimiting', { shared: { ...bucket, ...changes } });

export const operationalCases = [
  accepts({ of: 'crd.config.operational.log-level-enum', set: set('operational', { logLevel: 'debug' }) }),
  accepts({ of: 'crd.config.operational.log-level-enum', set: set('operational', { logLevel: '' }) }),
  refuses(
    { of: 'crd.config.operational.log-level-enum', set: set('operational', { logLevel: 'trace' }) },
    'spec.config.operational.logLevel',
    ENUM,
  ),
  accepts(
    { of: 'crd.config.operational.partial-failure-default', set: failure({ circuitBreaker: {} }) },
    {
      'config.operational.failureHandling.partialFailureMode': 'fail',
      'config.operational.failureHandling.healthCheckInterval': '30s',
      'config.operational.failureHandling.circuitBreaker.failureThreshold': 5,
      'config.operational.failureHandling.circuitBreaker.timeout': '60s',
    },
  ),
  ...['fail', 'best_effort'].map((partialFailureMode) =>
    accepts({ of: 'crd.config.operational.partial-failure-enum', set: failure({ partialFailureMode }) }),
  ),
  refuses(
    { of: 'crd.config.operational.partial-failure-enum', set: failure({ partialFailureMode: 'ignore' }) },
    `${FAILURE}.partialFailureMode`,
    ENUM,
  ),
  accepts({ of: 'crd.config.operational.circuit-threshold-min', set: breaker({ failureThreshold: 1 }) }),
  refuses(
    { of: 'crd.config.operational.circuit-threshold-min', set: breaker({ failureThreshold: 0 }) },
    `${FAILURE}.circuitBreaker.failureThreshold`,
    'should be greater than or equal to 1',
  ),
  accepts({ of: 'crd.config.operational.circuit-timeout-min', set: breaker({ timeout: '1s' }) }),
  refuses(
    { of: 'crd.config.operational.circuit-timeout-min', set: breaker({ timeout: '999ms' }) },
    `${FAILURE}.circuitBreaker.timeout`,
    'must be at least 1s',
  ),
  ...['.5', '1', '0', '0.25'].map((hybridSearchSemanticRatio) =>
    accepts({ of: 'crd.config.optimizer.semantic-ratio-pattern', set: optimizer({ hybridSearchSemanticRatio }) }),
  ),
  ...['-0.1', '1.', 'half'].map((hybridSearchSemanticRatio) =>
    refuses(
      { of: 'crd.config.optimizer.semantic-ratio-pattern', set: optimizer({ hybridSearchSemanticRatio }) },
      'spec.config.optimizer.hybridSearchSemanticRatio',
      'should match',
    ),
  ),
  refuses(
    { of: 'limits.semantic-ratio-range', set: optimizer({ hybridSearchSemanticRatio: '1.1' }) },
    'spec.config.optimizer.hybridSearchSemanticRatio',
    'must be between 0 and 1',
  ),
  accepts({ of: 'crd.config.optimizer.max-tools-min', set: optimizer({ maxToolsToReturn: 1 }) }),
  refuses(
    { of: 'crd.config.optimizer.max-tools-min', set: optimizer({ maxToolsToReturn: 0 }) },
    'spec.config.optimizer.maxToolsToReturn',
    'greater than or equal to 1',
  ),
  accepts({ of: 'crd.config.optimizer.max-tools-max', set: optimizer({ maxToolsToReturn: 50 }) }),
  refuses(
    { of: 'crd.config.optimizer.max-tools-max', set: optimizer({ maxToolsToReturn: 51 }) },
    'spec.config.optimizer.maxToolsToReturn',
    'less than or equal to 50',
  ),
  accepts({ of: 'crd.config.optimizer.distance-decimal', set: optimizer({ semanticDistanceThreshold: '0.75' }) }),
  refuses(
    { of: 'crd.config.optimizer.distance-decimal', set: optimizer({ semanticDistanceThreshold: 'far' }) },
    'spec.config.optimizer.semanticDistanceThreshold',
    'should match',
  ),
  refuses(
    { of: 'limits.semantic-distance-range', set: optimizer({ semanticDistanceThreshold: '2.1' }) },
    'spec.config.optimizer.semanticDistanceThreshold',
    'must be between 0 and 2',
  ),
  ...['0.0', '1.0'].map((samplingRate) =>
    accepts({ of: 'telemetry.sampling-rate.range', set: set('telemetry', { samplingRate }) }),
  ),
  refuses(
    { of: 'telemetry.sampling-rate.range', set: set('telemetry', { samplingRate: '1.5' }) },
    'spec.config.telemetry.samplingRate',
    'must be between 0 and 1',
  ),
  refuses(
    { of: 'telemetry.sampling-rate.range', set: set('telemetry', { samplingRate: '-0.1' }) },
    'spec.config.telemetry.samplingRate',
    'should match',
  ),
  refuses(
    { of: 'crd.config.rate-limiting.tools-name-required', set: set('rateLimiting', { tools: [{ shared: bucket }] }) },
    'spec.config.rateLimiting.tools[0].name',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.config.rate-limiting.tools-name-min-length',
      set: set('rateLimiting', { tools: [{ name: '', shared: bucket }] }),
    },
    'spec.config.rateLimiting.tools[0].name',
    EMPTY,
  ),
  refuses(
    { of: 'crd.config.rate-limiting.max-tokens-required', set: limit({ maxTokens: undefined }) },
    'spec.config.rateLimiting.shared.maxTokens',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.config.rate-limiting.max-tokens-int32', set: limit({ maxTokens: 2_147_483_648 }) },
    'spec.config.rateLimiting.shared.maxTokens',
    'int32',
  ),
  refuses(
    { of: 'crd.config.rate-limiting.max-tokens-int32', set: limit({ maxTokens: 1.5 }) },
    'spec.config.rateLimiting.shared.maxTokens',
    'int32',
  ),
  accepts({ of: 'crd.config.rate-limiting.max-tokens-min', set: limit({ maxTokens: 1 }) }),
  refuses(
    { of: 'crd.config.rate-limiting.max-tokens-min', set: limit({ maxTokens: 0 }) },
    'spec.config.rateLimiting.shared.maxTokens',
    'greater than or equal to 1',
  ),
  refuses(
    { of: 'crd.config.rate-limiting.refill-period-required', set: limit({ refillPeriod: undefined }) },
    'spec.config.rateLimiting.shared.refillPeriod',
    REQUIRED,
  ),
];

import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const set = (path: string, value: unknown) => ({ [`config.${path}`]: value });

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

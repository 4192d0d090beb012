import { proven } from './rule.ts';

export const limits = {
  'limits.timeout.default': proven('`operational.timeouts.default` defaults to 30s.'),
  'limits.timeout.custom': proven('`operational.timeouts.default` is the timeout of backend requests.'),
  'limits.timeout.per-workload': proven('`operational.timeouts.perWorkload` (map of duration) overrides the timeout for the named workload.'),
  'limits.timeout.per-workload-others': proven('Workloads not in `operational.timeouts.perWorkload` keep `timeouts.default`.'),
  'limits.per-user-key-ttl': proven('Per-user limit keys expire after 2 times `refillPeriod`.'),
  'limits.per-user-key-count': proven('The number of per-user keys is unique users in a TTL window times (1 + number of tools with per-user limits).'),
  'limits.semantic-ratio-range': proven('`hybridSearchSemanticRatio` is between 0.0 and 1.0.'),
  'limits.semantic-distance-range': proven('`semanticDistanceThreshold` is between 0 and 2.'),
};

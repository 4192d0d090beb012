import { CHECKS_OVERLAP, formatDuration, operationalSchema, parseDuration } from '../../../runtime/config/index.ts';
import { problem } from '../conditions.ts';
import type { Problem } from './served-conditions.ts';
import type { ServerSpec } from './spec.ts';

/** Settings that are taken, and do not do what they seem to say. */

/** What belongs to a store that is not asked for. */
export const sessionStorageIgnored: Problem = ({ newest: { spec } }) => {
  const [path, storage] =
    spec.sessionStorage === undefined
      ? ['config.sessionStorage', spec.config?.sessionStorage]
      : ['sessionStorage', spec.sessionStorage];
  if (storage?.provider === 'kvstore') return undefined;
  const ignored = [
    ...OF_KVSTORE.filter((key) => storage?.[key] !== undefined).map((key) => `${path}.${key}`),
    ...(spec.config?.extensions?.sessionStore === undefined ? [] : ['config.extensions.sessionStore']),
  ];
  if (ignored.length === 0) return undefined;
  const message = `${ignored.join(', ')} has no effect while sessions are kept in memory; set ${path}.provider to kvstore, or remove it`;
  return problem('SessionStorageIgnored', 'MemoryStorage', message);
};

/** `db` has a default. */
const OF_KVSTORE = ['address', 'keyPrefix', 'passwordRef'] as const;

/** As `vmcp validate` warns of it. */
export const healthChecksOverlap: Problem = ({ newest: { spec } }) => {
  const { healthCheckInterval = DEFAULT_INTERVAL, healthCheckTimeout = DEFAULT_TIMEOUT } = failureHandlingOf(spec);
  if (parseDuration(healthCheckTimeout) < parseDuration(healthCheckInterval)) return undefined;
  const where = 'config.operational.failureHandling';
  const message = `${where}.healthCheckTimeout (${healthCheckTimeout}) is not below healthCheckInterval (${healthCheckInterval}), ${CHECKS_OVERLAP}`;
  return problem('HealthChecksOverlap', 'TimeoutNotBelowInterval', message);
};

const { failureHandling: defaults } = operationalSchema.parse({});
const DEFAULT_INTERVAL = formatDuration(defaults.healthCheckInterval);
const DEFAULT_TIMEOUT = formatDuration(defaults.healthCheckTimeout);

interface FailureHandling {
  readonly healthCheckInterval?: string;
  readonly healthCheckTimeout?: string;
}

const failureHandlingOf = ({ config }: ServerSpec): FailureHandling =>
  (config as { readonly operational?: { readonly failureHandling?: FailureHandling } } | undefined)?.operational
    ?.failureHandling ?? {};

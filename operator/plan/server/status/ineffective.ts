import { CHECKS_OVERLAP, formatDuration, operationalSchema, parseDuration } from '../../../../runtime/config/index.ts';
import { literalHeaderValues } from '../../../validate/index.ts';
import { authStorageIgnored } from '../../auth-storage.ts';
import { problem } from '../../conditions.ts';
import type { ServerSpec } from '../../server-spec.ts';
import { policiesOf } from '../config/policies.ts';
import type { Problem } from './served-conditions.ts';

/** Settings that are taken, and do not do what they seem to say. */

/** What belongs to a store that is not asked for. */
export const sessionStorageIgnored: Problem = ({ newest: { spec } }) => {
  const [path, storage] =
    spec.sessionStorage === undefined
      ? ['config.sessionStorage', spec.config?.sessionStorage]
      : ['sessionStorage', spec.sessionStorage];
  if (storage?.provider === 'kvstore') return undefined;
  const ignored = [
    ...OF_KVSTORE.filter((key) => storage !== undefined && key in storage).map((key) => `${path}.${key}`),
    ...(spec.config?.extensions?.sessionStore === undefined ? [] : ['config.extensions.sessionStore']),
  ];
  if (ignored.length === 0) return undefined;
  const message = `${ignored.join(', ')} has no effect while sessions are kept in memory; set ${path}.provider to kvstore`;
  return problem('SessionStorageIgnored', 'MemoryStorage', message);
};

/** `db` has a default. */
const OF_KVSTORE = ['address', 'keyPrefix', 'passwordRef'] as const;

/** The store of the embedded authorization server, likewise. */
export const authServerStorageIgnored: Problem = ({ newest: { spec } }) =>
  authStorageIgnored('spec.authServerConfig', spec.authServerConfig);

/**
 * docs/decisions.md "Upstream provider for policies". With `anonymous` no policy counts, which another condition says.
 */
export const primaryUpstreamIgnored: Problem = ({ bundle: { references }, newest: { spec } }) => {
  const { type, authzConfig } = spec.incomingAuth;
  if (type === 'anonymous' || authzConfig === undefined || authzConfig.inline !== undefined) return undefined;
  const named = policiesOf(authzConfig, references).policies?.primaryUpstreamProvider ?? '';
  if (named === '') return undefined;
  const message = `the ConfigMap of incomingAuth.authzConfig names the upstream provider ${named}, which is ignored: primaryUpstreamProvider counts only with policies of type inline; write them inline, or remove primary_upstream_provider`;
  return problem('AuthzPrimaryUpstreamProviderIgnored', 'InlineOnly', message);
};

/** A valid field, which is rendered: docs/decisions.md "Literal header values" */
export const literalHeaderValue: Problem = ({ newest: { spec } }) => {
  const [first, ...rest] = literalHeaderValues(spec);
  if (first === undefined) return undefined;
  const paths = [first, ...rest].map(({ path }) => path).join(', ');
  return problem('LiteralHeaderValue', 'ReadableInConfigMap', `${paths}: ${first.reason}; ${first.remedy}`);
};

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

const failureHandlingOf = ({ config }: ServerSpec) => config?.operational?.failureHandling ?? {};

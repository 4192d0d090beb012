import { AUDIT_EVENT_TYPES } from './audit.ts';
import { strategiesIn } from './credential-headers.ts';
import type { Config } from './load.ts';
import { nearest } from './nearest.ts';
import { isPlainBeyondLoopback } from './plain-http.ts';
import { blockOf, everyStrategy, needsUser } from './strategies/index.ts';
import { proxyWarnings, upstreamWarnings } from './upstream-warnings.ts';

/** Warnings about valid settings that are probably not intended, one line each. */
export const warningsOf = (config: Config): readonly string[] => [
  ...storeless(config),
  ...slowChecks(config),
  ...unknownBackends(config),
  ...unknownEventTypes(config),
  ...issuersUnused(config),
  ...usersNeeded(config),
  ...plainTokenUrls(config),
  ...unsentTelemetry(config),
  ...upstreamWarnings(config),
  ...proxyWarnings(config),
];

/** Issuers suggest a protection that is not there (docs/decisions.md "Anonymous access"). */
function* issuersUnused({ incomingAuth: { type }, extensions }: Config): Generator<string> {
  if (type === 'oidc' || extensions.issuers.length === 0) return;
  yield `extensions.issuers: has no effect while incomingAuth.type is ${type}; set incomingAuth.type to oidc`;
}

/**
 * Credentials that are made from a user's token (docs/outgoing-auth.md "Strategies"). A proxy that relays credentials
 * takes that of the caller from a header.
 */
function* usersNeeded({ incomingAuth: { type, relaysCredentials }, outgoingAuth }: Config): Generator<string> {
  if (type === 'oidc' || relaysCredentials) return;
  for (const { path, strategy } of strategiesIn(outgoingAuth)) {
    if (needsUser(strategy['type']))
      yield `${path.join('.')}.type: every call fails, since ${String(strategy['type'])} is made from a user's token and incomingAuth.type is ${type}; set incomingAuth.type to oidc`;
  }
}

/** Only a warning: a host name may lead to a loopback address, and one backend must not cost the others their file. */
function* plainTokenUrls({ incomingAuth: { oidc }, outgoingAuth }: Config): Generator<string> {
  if (oidc?.insecureAllowHttp === true) return;
  for (const { path, strategy } of strategiesIn(outgoingAuth)) {
    for (const [name, { addresses = [] }] of everyStrategy)
      for (const key of addresses) {
        const text = blockOf(strategy, name)?.[key];
        if (typeof text === 'string' && isPlainBeyondLoopback(text))
          yield `${[...path, name, key].join('.')}: without TLS only loopback addresses are asked, so every call fails elsewhere; use https://`;
      }
  }
}

/** As the operator's condition `SessionStorageIgnored` says it. */
function* storeless({ sessionStorage }: Config): Generator<string> {
  if (sessionStorage?.provider !== 'memory') return;
  for (const key of ['address', 'keyPrefix'] as const) {
    if (sessionStorage[key] === undefined) continue;
    yield `sessionStorage.${key}: has no effect while sessions are kept in memory; set sessionStorage.provider to kvstore`;
  }
}

function* unsentTelemetry({ telemetry }: Config): Generator<string> {
  if (!telemetry) return;
  const { endpoint, tracingEnabled, metricsEnabled, caCertPath, insecure } = telemetry;
  const asked = [tracingEnabled && 'tracingEnabled', metricsEnabled && 'metricsEnabled'].filter(Boolean);
  if (endpoint === undefined)
    for (const key of asked)
      yield `telemetry.${String(key)}: has no effect without an endpoint; set telemetry.endpoint`;
  else if (asked.length === 0)
    yield 'telemetry.endpoint: nothing is sent to it; set tracingEnabled or metricsEnabled to true';
  if (insecure && caCertPath !== undefined)
    yield 'telemetry.caCertPath: has no effect while insecure says HTTP; set insecure to false';
}

/** Why overlapping checks are questionable, and what to do; the operator uses the same text in a condition. */
export const CHECKS_OVERLAP =
  'so that a check may take longer than the time between two; lower it, or raise healthCheckInterval';

function* slowChecks({ operational: { failureHandling } }: Config): Generator<string> {
  const { healthCheckInterval, healthCheckTimeout } = failureHandling;
  if (healthCheckTimeout < healthCheckInterval) return;
  yield `operational.failureHandling.healthCheckTimeout: not below healthCheckInterval, ${CHECKS_OVERLAP}`;
}

/**
 * A named backend that does not exist may be misspelt, or be added later (`backends.yaml`), so it is only a warning.
 */
function* unknownBackends(config: Config): Generator<string> {
  const known = [...config.backends, ...config.withheld].map(({ name }) => name);
  for (const [path, name] of backendsNamed(config)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const remedy = meant === undefined ? 'correct the name, or add the backend' : `did you mean ${meant}?`;
    yield `${path}: no backend is called ${JSON.stringify(name)}, so this has no effect; ${remedy}`;
  }
}

/** Not an error: configurations of comparable gateways name types that only those have. */
function* unknownEventTypes({ audit }: Config): Generator<string> {
  for (const key of ['eventTypes', 'excludeEventTypes'] as const)
    for (const [index, type] of (audit?.[key] ?? []).entries()) {
      if (AUDIT_EVENT_TYPES.some((known) => known === type)) continue;
      const meant = nearest(type, AUDIT_EVENT_TYPES);
      const remedy = meant === undefined ? 'docs/audit.md lists them' : `did you mean ${meant}?`;
      yield `audit.${key}[${index}]: no event has the type ${JSON.stringify(type)}, so this has no effect; ${remedy}`;
    }
}

function* backendsNamed({
  aggregation,
  operational,
  outgoingAuth,
  extensions,
}: Config): Generator<readonly [string, string]> {
  const { tools = [], conflictResolutionConfig } = aggregation;
  for (const [index, { workload }] of tools.entries()) yield [`aggregation.tools[${index}].workload`, workload];
  for (const [index, name] of (conflictResolutionConfig.priorityOrder ?? []).entries())
    yield [`aggregation.conflictResolutionConfig.priorityOrder[${index}]`, name];
  for (const name of Object.keys(operational.timeouts.perWorkload))
    yield [`operational.timeouts.perWorkload.${name}`, name];
  for (const name of Object.keys(extensions.perWorkload)) yield [`extensions.perWorkload.${name}`, name];
  for (const name of Object.keys(outgoingAuth.backends)) yield [`outgoingAuth.backends.${name}`, name];
}

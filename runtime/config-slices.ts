import type { WantedBackend } from './backends/index.ts';
import type { OfferedBackend, OfferSettings } from './catalog/index.ts';
import type { Config } from './config/index.ts';
import type { HostRules, OperatorTokenSettings } from './edge/index.ts';
import type { LogFields, LogLevel } from './observe/index.ts';

/** What each room needs of the configuration, and nothing more. */

export const offerSettingsOf = ({ aggregation, operational }: Config): OfferSettings => ({
  naming: {
    conflictResolution: aggregation.conflictResolution,
    prefixFormat: aggregation.conflictResolutionConfig.prefixFormat,
  },
  partialFailureMode: operational.failureHandling.partialFailureMode,
  waitForUnknownMs: operational.failureHandling.healthCheckTimeout,
});

export const wantedBackendsOf = ({ backends, operational: { timeouts } }: Config): WantedBackend[] =>
  backends.map(({ name, url }) => ({
    settings: { name, url },
    tuning: { silenceMs: timeouts.perWorkload[name] ?? timeouts.default },
  }));

/** Backends that are named but not contacted (decisions: `partialFailureMode`). */
export const withheldOf = ({ withheld }: Config): OfferedBackend[] =>
  withheld.map(({ name, message }) => ({ name, message, status: 'unavailable', isWithheld: true }));

export const hostRulesOf = ({ extensions, incomingAuth }: Config): HostRules => ({
  allowedHosts: extensions.allowedHosts ?? [],
  allowedOrigins: extensions.allowedOrigins ?? [],
  ...(incomingAuth.oidc?.resource !== undefined && { resourceUrl: incomingAuth.oidc.resource }),
});

export const accessOf = ({ management }: Config): OperatorTokenSettings => ({
  audience: management.audience,
  operatorKeys: management.operatorKeys,
});

export const levelOf = ({ operational }: Config): LogLevel => (operational.logLevel === 'debug' ? 'debug' : 'info');

/** Fields of every log line. */
export const logFieldsOf = ({ name, metadata }: Config): LogFields => ({
  ...metadata,
  server: name,
});

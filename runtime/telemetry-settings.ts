import { type Config, otlpEndpoint } from './config/index.ts';
import type { TelemetrySettings } from './observe/index.ts';

export interface ProcessFacts {
  readonly version: string;
  /** Different for each process. */
  readonly instanceId: string;
  /** The value of a variable of the environment. */
  readonly environment: (name: string) => string | undefined;
}

/** docs/configuration.md "telemetry" */
export const telemetrySettingsOf = (config: Config, process: ProcessFacts): TelemetrySettings => {
  const { telemetry } = config;
  const version = telemetry?.serviceVersion ?? process.version;
  const nothing = { resource: {}, version: process.version, exportsMetrics: false };
  if (telemetry?.endpoint === undefined) return nothing;
  const endpoint = otlpEndpoint(telemetry.endpoint, telemetry.insecure);
  // Loading the file refuses such an endpoint.
  if ('reason' in endpoint) return nothing;
  const { headers = {}, headerFiles = {}, caCertPath } = telemetry;
  return {
    resource: {
      ...config.metadata,
      'service.name': telemetry.serviceName ?? config.name,
      'service.version': version,
      'service.instance.id': process.instanceId,
      ...telemetry.customAttributes,
    },
    version: process.version,
    otlp: { ...endpoint, headers, headerFiles, caBundlePath: caCertPath },
    ...(telemetry.tracingEnabled && { tracing: tracingOf(config, telemetry, process.environment) }),
    exportsMetrics: telemetry.metricsEnabled,
  };
};

const tracingOf = (
  { name }: Config,
  { samplingRate, environmentVariables = [], useLegacyAttributes }: NonNullable<Config['telemetry']>,
  environment: ProcessFacts['environment'],
): NonNullable<TelemetrySettings['tracing']> => {
  const variables = environmentVariables.map((variable) => [`environment.${variable}`, environment(variable)] as const);
  return {
    common: Object.fromEntries(variables.filter(([, value]) => value !== undefined)),
    serverName: name,
    hasLegacyNames: useLegacyAttributes,
    samplingRate: Number(samplingRate),
  };
};

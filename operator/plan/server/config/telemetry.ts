import { type SpecOf, specOf } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { lookUpIn } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { KeyRef } from '../bundle.ts';
import { CA_OWNERS, caBundlePath, secretPath } from '../objects/mounted-files.ts';
import { childName } from '../objects/names.ts';
import { type PartInput, type SpecInput, type Value, before } from './part.ts';

type OpenTelemetry = NonNullable<SpecOf<'MCPTelemetryConfig'>['openTelemetry']>;

/**
 * docs/decisions.md "Spec before config". What came from a lost object stays as it was: docs/decisions.md "Last good
 * spec"
 */
export const telemetry = (input: PartInput): unknown => {
  const { telemetryConfigRef, config } = input.spec;
  if (telemetryConfigRef === undefined) return config?.telemetry;
  const target = lookUpIn(input.references)('MCPTelemetryConfig', telemetryConfigRef.name);
  if (target === undefined) return before(input, 'telemetry');
  const { openTelemetry, prometheus } = specOf('MCPTelemetryConfig', target);
  return {
    serviceName: serviceNameOf(input.server, input.spec),
    ...(openTelemetry?.enabled === true && exported(openTelemetry, input.settings)),
    enablePrometheusMetricsPath: prometheus?.enabled === true,
  };
};

/** `vmcp-<n>` unless the reference says another one: docs/decisions.md "Telemetry service name" */
export const serviceNameOf = (server: KubeObject, { telemetryConfigRef }: ServerSpec): string =>
  (telemetryConfigRef?.serviceName ?? '') || childName(server);

/** docs/configuration.md "telemetry" */
const exported = (openTelemetry: OpenTelemetry, settings: Settings): Value => {
  const { endpoint, headers, sensitiveHeaders = [], insecure, caBundleRef } = openTelemetry;
  const { resourceAttributes, tracing, metrics, useLegacyAttributes } = openTelemetry;
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(headers && { headers }),
    ...(sensitiveHeaders.length > 0 && { headerFiles: filesOf(sensitiveHeaders, settings) }),
    ...(insecure !== undefined && { insecure }),
    ...(caBundleRef && { caCertPath: caBundlePath(CA_OWNERS.telemetry, caBundleRef.configMapRef, settings) }),
    ...(resourceAttributes && { customAttributes: resourceAttributes }),
    tracingEnabled: tracing?.enabled === true,
    ...(tracing?.samplingRate !== undefined && { samplingRate: tracing.samplingRate }),
    metricsEnabled: metrics?.enabled === true,
    ...(useLegacyAttributes !== undefined && { useLegacyAttributes }),
  };
};

const filesOf = (headers: NonNullable<OpenTelemetry['sensitiveHeaders']>, settings: Settings): Value =>
  Object.fromEntries(headers.map(({ name, secretKeyRef }) => [name, secretPath(secretKeyRef, settings)]));

/** Certificates of the endpoint, as today's references have them. */
export const telemetryCaBundle = ({ spec, references }: SpecInput): KeyRef | undefined => {
  const { telemetryConfigRef } = spec;
  const target = telemetryConfigRef && lookUpIn(references)('MCPTelemetryConfig', telemetryConfigRef.name);
  return target && specOf('MCPTelemetryConfig', target).openTelemetry?.caBundleRef?.configMapRef;
};

import type { KubeObject } from '../../object.ts';
import { lookUpIn } from '../references.ts';
import type { Settings } from '../settings.ts';
import { CA_OWNERS, type KeyRef, caBundlePath, secretPath } from './mounted-files.ts';
import { childName } from './names.ts';
import { type PartInput, type SpecInput, type Value, before } from './part.ts';
import type { ServerSpec } from './spec.ts';

/** `spec` of an MCPTelemetryConfig. */
interface TelemetryConfig {
  readonly openTelemetry?: OpenTelemetry;
  readonly prometheus?: { readonly enabled?: boolean };
}

interface OpenTelemetry {
  readonly enabled?: boolean;
  readonly endpoint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sensitiveHeaders?: readonly { readonly name: string; readonly secretKeyRef: KeyRef }[];
  readonly insecure?: boolean;
  readonly caBundleRef?: { readonly configMapRef: KeyRef };
  readonly resourceAttributes?: Readonly<Record<string, string>>;
  readonly tracing?: { readonly enabled?: boolean; readonly samplingRate?: string };
  readonly metrics?: { readonly enabled?: boolean };
  readonly useLegacyAttributes?: boolean;
}

/** Decisions: `spec.telemetryConfigRef` over `config.telemetry`. What came from a lost object stays as it was ("Last good spec"). */
export const telemetry = (input: PartInput): unknown => {
  const { telemetryConfigRef, config } = input.spec;
  if (telemetryConfigRef === undefined) return config?.['telemetry'];
  const target = lookUpIn(input.references)('MCPTelemetryConfig', telemetryConfigRef.name);
  if (target === undefined) return before(input, 'telemetry');
  const { openTelemetry, prometheus } = target['spec'] as TelemetryConfig;
  return {
    serviceName: serviceNameOf(input.server, input.spec),
    ...(openTelemetry?.enabled === true && exported(openTelemetry, input.settings)),
    enablePrometheusMetricsPath: prometheus?.enabled === true,
  };
};

/** Decisions "Names": `vmcp-<n>` unless the reference says another one. */
export const serviceNameOf = (server: KubeObject, { telemetryConfigRef }: ServerSpec): string =>
  (telemetryConfigRef?.serviceName ?? '') || childName(server);

/** spec: config.telemetry */
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
  return (target?.['spec'] as TelemetryConfig | undefined)?.openTelemetry?.caBundleRef?.configMapRef;
};

import * as z from 'zod';
import { filePathSchema } from './file-paths.ts';
import { decimal, stringMap } from './scalars.ts';

const telemetryShape = {
  endpoint: z
    .string()
    .optional()
    .describe('OTLP endpoint (HTTP, protobuf): host:port, or an address below which /v1/traces and /v1/metrics are.'),
  serviceName: z.string().optional().describe('Service name; the name of the server when left out.'),
  serviceVersion: z.string().optional().describe('Service version; the running version when left out.'),
  tracingEnabled: z.boolean().default(false).describe('Exports traces.'),
  metricsEnabled: z.boolean().default(false).describe('Exports metrics over OTLP.'),
  samplingRate: decimal(1)
    .default('0.05')
    .describe(
      'Share of traces that are exported, 0.0 to 1.0; a trace that the client began is exported if it says so.',
    ),
  insecure: z
    .boolean()
    .default(false)
    .describe('Uses HTTP instead of HTTPS for OTLP, where the endpoint does not say it.'),
  headers: stringMap().optional().describe('Headers for the OTLP endpoint.'),
  caCertPath: filePathSchema.optional().describe('File with the certificate authorities of the OTLP endpoint.'),
  customAttributes: stringMap().optional().describe('Resource attributes on all signals.'),
  environmentVariables: z
    .array(z.string())
    .optional()
    .describe('Environment variables whose values become span attributes.'),
  enablePrometheusMetricsPath: z.boolean().default(false).describe('Serves /metrics on the main port.'),
  useLegacyAttributes: z.boolean().default(true).describe('Emits the legacy attribute names beside the new ones.'),
};

const telemetryOf = <More extends z.core.$ZodLooseShape>(more: More) =>
  z.strictObject({ ...telemetryShape, ...more }).describe('Telemetry; in the cluster prefer spec.telemetryConfigRef.');

/** docs/configuration.md "telemetry" */
export const telemetrySchema = telemetryOf({});

/** The same in the file, which also names files that hold secrets. */
export const fileTelemetrySchema = telemetryOf({
  headerFiles: z
    .record(z.string(), filePathSchema)
    .optional()
    .describe('Files that hold values of headers for the OTLP endpoint, by header name.'),
});

/** Where OTLP goes. */
export interface OtlpEndpoint {
  /** Without a slash at the end; below it are `/v1/traces` and `/v1/metrics` (OTLP, "OTLP/HTTP Request"). */
  readonly base: string;
  readonly isPlain: boolean;
}

/** A problem with the endpoint, as text. */
export interface EndpointProblem {
  readonly reason: string;
  readonly remedy: string;
}

/**
 * Reads an endpoint: an address, whose scheme says whether TLS is used, or `host:port`, where `insecure` does.
 * docs/telemetry.md "Where it goes"
 */
export const otlpEndpoint = (endpoint: string, insecure: boolean): OtlpEndpoint | EndpointProblem => {
  const written = endpoint.includes('://') ? endpoint : `${insecure ? 'http' : 'https'}://${endpoint}`;
  const url = URL.parse(written);
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (!isHttp || /\s/.test(endpoint))
    return { reason: 'is no address', remedy: 'write host:port, or http:// or https:// and a host' };
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return {
      reason: 'has more than scheme, host, port and path',
      remedy: 'put credentials into headers or headerFiles',
    };
  if (insecure && url.protocol === 'https:')
    return { reason: 'says https:// while insecure says HTTP', remedy: 'set insecure to false' };
  return { base: url.origin + url.pathname.replace(/\/+$/, ''), isPlain: url.protocol === 'http:' };
};

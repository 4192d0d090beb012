import * as z from 'zod';
import { notYet } from './not-yet.ts';
import { filePathSchema } from './file-paths.ts';
import { decimal, stringMap } from './scalars.ts';

const telemetryShape = {
  endpoint: z.string().optional().describe('OTLP endpoint.'),
  serviceName: z.string().optional().describe('Service name; the name of the server when left out.'),
  serviceVersion: z.string().optional().describe('Service version; the running version when left out.'),
  tracingEnabled: z.boolean().default(false).describe('Exports traces.'),
  metricsEnabled: z.boolean().default(false).describe('Exports metrics over OTLP.'),
  samplingRate: decimal(1).default('0.05').describe('Share of traces that are exported, 0.0 to 1.0.'),
  insecure: z.boolean().default(false).describe('Uses HTTP instead of HTTPS for OTLP.'),
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
  notYet(
    z
      .strictObject({ ...telemetryShape, ...more })
      .describe('Telemetry; in the cluster prefer spec.telemetryConfigRef.'),
    'telemetry',
  );

/** docs/configuration.md "telemetry" */
export const telemetrySchema = telemetryOf({});

/** The same in the file, which also names files that hold secrets. */
export const fileTelemetrySchema = telemetryOf({
  headerFiles: z
    .record(z.string(), filePathSchema)
    .optional()
    .describe('Files that hold values of headers for the OTLP endpoint, by header name.'),
});

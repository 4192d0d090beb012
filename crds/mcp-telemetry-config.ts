import * as z from 'zod';
import { keyedList, rule, withRules } from '../runtime/config/index.ts';
import { AGE_COLUMN, REFERENCES_COLUMN, VALID_COLUMN, defineKind } from './kind.ts';
import { configMapKeyRef, mark, secretRef } from './kit.ts';
import { sharedConfigStatus } from './shared-config.ts';

const flag = () => z.boolean().default(false);

const headerName = () => z.string().min(1).max(255);

const openTelemetry = z.strictObject({
  enabled: flag().describe('Turns OpenTelemetry on.'),
  endpoint: z.string().optional().describe('OTLP endpoint.'),
  headers: mark(z.record(z.string(), z.string()), { maxProperties: 64 })
    .optional()
    .describe('Headers for the endpoint with values that are no secret.'),
  sensitiveHeaders: mark(
    keyedList(
      z.strictObject({
        name: headerName().describe('Name of the header.'),
        secretKeyRef: secretRef().describe('Secret key that holds the value.'),
      }),
      'name',
    ),
    { maxItems: 64 },
  )
    .optional()
    .describe('Headers for the endpoint whose values are in Secrets.'),
  insecure: flag().describe('HTTP instead of HTTPS.'),
  caBundleRef: z
    .strictObject({ configMapRef: configMapKeyRef().describe('ConfigMap key that holds PEM certificates.') })
    .optional()
    .describe("Certificates that the endpoint's own is verified against."),
  resourceAttributes: z.record(z.string(), z.string()).optional().describe('Attributes on every signal.'),
  tracing: z
    .strictObject({
      enabled: flag().describe('Sends traces.'),
      samplingRate: z
        .string()
        .regex(/^(0(\.[0-9]+)?|1(\.0+)?)$/, { error: 'not a number from 0 to 1 in quotes' })
        .default('0.05')
        .describe('Share of traces that are kept, from 0 to 1.'),
    })
    .optional()
    .describe('Traces.'),
  metrics: z
    .strictObject({ enabled: flag().describe('Sends metrics.') })
    .optional()
    .describe('Metrics over OTLP.'),
  useLegacyAttributes: z.boolean().default(true).describe('Sends legacy attribute names beside the new ones.'),
});

interface Headers {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly sensitiveHeaders?: readonly { readonly name: string }[] | undefined;
}

interface Signals {
  readonly endpoint?: string | undefined;
  readonly tracing?: { readonly enabled: boolean } | undefined;
  readonly metrics?: { readonly enabled: boolean } | undefined;
}

const rules = [
  rule<Headers>({
    cel: '!has(self.headers) || !has(self.sensitiveHeaders) || self.sensitiveHeaders.all(h, !(h.name in self.headers))',
    holds: ({ headers = {}, sensitiveHeaders = [] }) =>
      sensitiveHeaders.every(({ name }) => !Object.hasOwn(headers, name)),
    reason: 'a header is in headers and in sensitiveHeaders',
    remedy: 'keep it in one of them',
  }),
  rule<Signals>({
    cel: '!has(self.endpoint) || (has(self.tracing) && self.tracing.enabled) || (has(self.metrics) && self.metrics.enabled)',
    holds: ({ endpoint, tracing, metrics }) =>
      endpoint === undefined || tracing?.enabled === true || metrics?.enabled === true,
    reason: 'endpoint is set but nothing is sent to it',
    remedy: 'set tracing.enabled or metrics.enabled to true, or remove endpoint',
    field: 'endpoint',
  }),
  rule<{ readonly insecure: boolean; readonly caBundleRef?: unknown }>({
    cel: '!self.insecure || !has(self.caBundleRef)',
    holds: ({ insecure, caBundleRef }) => !insecure || caBundleRef === undefined,
    reason: 'insecure and caBundleRef exclude each other',
    remedy: 'set insecure to false',
    field: 'caBundleRef',
  }),
];

export const mcpTelemetryConfig = defineKind({
  kind: 'MCPTelemetryConfig',
  plural: 'mcptelemetryconfigs',
  shortNames: ['mcpotel'],
  description: 'Where traces and metrics go, shared by the servers that refer to it.',
  spec: z.strictObject({
    openTelemetry: withRules(openTelemetry, ...rules)
      .optional()
      .describe('OpenTelemetry.'),
    prometheus: z
      .strictObject({ enabled: flag().describe('Serves /metrics on the main port.') })
      .optional()
      .describe('Prometheus.'),
  }),
  status: sharedConfigStatus(),
  columns: [
    { name: 'Endpoint', path: '.spec.openTelemetry.endpoint' },
    { name: 'Tracing', path: '.spec.openTelemetry.tracing.enabled', type: 'boolean' },
    { name: 'Metrics', path: '.spec.openTelemetry.metrics.enabled', type: 'boolean' },
    VALID_COLUMN,
    REFERENCES_COLUMN,
    AGE_COLUMN,
  ],
});

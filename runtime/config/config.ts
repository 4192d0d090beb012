import * as z from 'zod';
import { aggregationSchema, fileAggregationSchema } from './aggregation.ts';
import { auditSchema } from './audit.ts';
import { embeddedAuthServerSchema } from './auth-server.ts';
import { backendsSchema, fileBackendsSchema, withheldSchema } from './backends.ts';
import { compositeToolRefSchema, compositeToolsSchema } from './composite-tools.ts';
import { extensionsSchema, resourceExtensionsSchema } from './extensions.ts';
import { fileIncomingAuthSchema, incomingAuthSchema } from './incoming-auth.ts';
import { operationalSchema } from './operational.ts';
import { optimizerSchema } from './optimizer.ts';
import { fileOutgoingAuthSchema, fileStrategySchema, outgoingAuthSchema } from './outgoing-auth.ts';
import { rateLimitingSchema } from './rate-limiting.ts';
import { rule, withRules } from './rules.ts';
import { stringMap, workloadNameSchema } from './scalars.ts';
import { secretFiles } from './secret-spelling.ts';
import { sessionStorageSchema } from './session-storage.ts';
import { fileTelemetrySchema, telemetrySchema } from './telemetry.ts';

/** Version of the file format; a runtime refuses files of a newer one. */
export const FORMAT_VERSION = 1;

/** Keys that resources and the file spell alike. */
const sharedShape = {
  groupRef: z.string().optional().describe('Name of the group; in the cluster taken from spec.groupRef.'),
  metadata: stringMap().optional().describe('Free metadata, kept as log and resource attributes.'),
  audit: auditSchema.optional(),
  compositeTools: compositeToolsSchema,
  operational: operationalSchema.prefault({}),
  optimizer: optimizerSchema.optional(),
  rateLimiting: rateLimitingSchema.optional(),
  sessionStorage: sessionStorageSchema.optional(),
};

const nameSchema = z.string().min(1).max(253).describe('Name of the server, shown to clients.');

/** docs/resources.md "VirtualMCPServer": `spec.config` */
export const configSchema = z
  .strictObject({
    name: nameSchema.optional(),
    ...sharedShape,
    extensions: resourceExtensionsSchema.prefault({}),
    aggregation: aggregationSchema.prefault({}),
    backends: backendsSchema,
    compositeToolRefs: z
      .array(compositeToolRefSchema)
      .optional()
      .describe('Composite tools defined by resources of their own.'),
    incomingAuth: incomingAuthSchema.optional(),
    outgoingAuth: outgoingAuthSchema.optional(),
    telemetry: telemetrySchema.optional(),
  })
  .describe('Configuration of the virtual server.');

const formatVersionSchema = z
  .int()
  .min(1)
  .max(FORMAT_VERSION)
  .default(FORMAT_VERSION)
  .describe('Version of the form of this file.');

/** Ed25519 as a JSON Web Key (RFC 8037 §2); further members such as `kid` are kept. */
const operatorKeySchema = z.looseObject({
  kty: z.enum(['OKP']).describe('Key type.'),
  crv: z.enum(['Ed25519']).describe('Curve.'),
  x: z.string().min(1).describe('Public key, base64url.'),
});

const managementSchema = withRules(
  z.strictObject({
    audience: z.string().min(1).optional().describe('Audience of the tokens that open /status.'),
    operatorKeys: z
      .array(operatorKeySchema)
      .default([])
      .describe('Public keys (JWK) whose tokens open /status; without any it answers on loopback only.'),
  }),
  rule<{ readonly audience?: unknown; readonly operatorKeys?: readonly unknown[] }>({
    cel: '!has(self.operatorKeys) || size(self.operatorKeys) == 0 || has(self.audience)',
    holds: ({ audience, operatorKeys = [] }) => operatorKeys.length === 0 || audience !== undefined,
    reason: 'operatorKeys needs audience',
    remedy: 'set audience',
    field: 'operatorKeys',
  }),
).describe('Access to the management port.');

/** `config.yaml`: what a resource has, `authServer`, and docs/decisions.md "Keys that only the file has". */
export const fileSchema = z
  .strictObject({
    formatVersion: formatVersionSchema,
    name: nameSchema.default('vmcp'),
    ...sharedShape,
    extensions: extensionsSchema.prefault({}),
    aggregation: fileAggregationSchema.prefault({}),
    backends: fileBackendsSchema,
    incomingAuth: fileIncomingAuthSchema,
    outgoingAuth: fileOutgoingAuthSchema.prefault({ source: 'inline' }),
    telemetry: fileTelemetrySchema.optional(),
    authServer: embeddedAuthServerSchema(secretFiles).optional(),
    management: managementSchema.prefault({}),
  })
  .describe('The configuration file of the runtime.');

/** `backends.yaml`: backends that the operator found in the group, with their strategies. */
export const backendsFileSchema = z
  .strictObject({
    formatVersion: formatVersionSchema,
    backends: fileBackendsSchema,
    withheld: withheldSchema,
    outgoingAuth: z
      .strictObject({
        backends: z.record(workloadNameSchema, fileStrategySchema).default({}).describe('Strategies by backend name.'),
      })
      .prefault({})
      .describe('Authentication to these backends.'),
  })
  .describe('Backends that the operator found.');

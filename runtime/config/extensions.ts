import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { authServerExtensionSchema } from './auth-server-extension.ts';
import { durationOr } from './durations.ts';
import { rateLimitingExtensionSchema } from './rate-limiting.ts';
import { furtherIssuersSchema } from './issuers.ts';
import { optimizerExtensionSchema } from './optimizer.ts';
import { networkSchema, workloadNameSchema } from './scalars.ts';
import { serviceMetadataSchema } from './service-metadata.ts';
import { sessionStoreSchema } from './session-store.ts';

const allowedHostSchema = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, {
    error: 'not a host name; write the name without scheme and port',
  });

const originSchema = z
  .string()
  .max(300)
  .regex(/^https?:\/\/[^\s/?#@]+$/, { error: 'not an origin; write scheme, host and maybe port, without a path' });

const MEANING = 'Settings beyond the common specification.';

const auditDeliverySchema = z
  .strictObject({
    mode: z
      .enum(['batch', 'blocking', 'blocking-strict'])
      .default('batch')
      .describe(
        'Delivery of audit events: batch, in the background; blocking, an answer waits until its event is written; blocking-strict, so does the work for a request, which is refused when its first event cannot be written.',
      ),
    bufferSize: z
      .int32()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe('Most events that wait to be written; further ones are dropped, and counted.'),
    bufferBytes: z
      .int32()
      .min(65_536)
      .max(268_435_456)
      .default(16_777_216)
      .describe('Most bytes of the events that wait to be written.'),
    batchMaxSize: z.int32().min(1).max(10_000).default(400).describe('Most events of one write in mode batch.'),
    batchMaxWait: durationOr('200ms', { min: '1ms', max: '30s' }).describe(
      'Longest time that an event waits for others of its batch.',
    ),
    redact: z
      .array(z.string().min(1).max(128))
      .max(256)
      .default([])
      .describe(
        'Names of further members whose values are left out of request and response data; case, hyphens and underscores do not count.',
      ),
  })
  .prefault({})
  .describe('Delivery and redaction of audit events.');

const callsSchema = z.int32().min(1).max(LIMITS.requests);

/** Keys of our own: docs/decisions.md "Keys that only the file has" */
export const extensionsSchema = z
  .strictObject({
    allowedHosts: z
      .array(allowedHostSchema)
      .default([])
      .describe(
        'Further host names that requests may be addressed to, beside those of the Service and of the public URL.',
      ),
    allowedOrigins: z
      .array(originSchema)
      .default([])
      .describe('Web origins that may call the endpoint, beside that of the public URL.'),
    tolerateHeaders: z
      .boolean()
      .default(false)
      .describe(
        'Takes requests whose MCP-Protocol-Version header names another revision than their body (an older one) or their session (2026-07-28), as some clients send them; the protocol wants them refused.',
      ),
    trustedProxies: z
      .array(networkSchema)
      .default([])
      .describe(
        'Addresses or CIDR blocks of proxies whose Forwarded and X-Forwarded-* headers count: they tell the client and the host that it asked for.',
      ),
    rateLimiting: rateLimitingExtensionSchema.prefault({}),
    audit: auditDeliverySchema,
    authServer: authServerExtensionSchema,
    issuers: furtherIssuersSchema,
    optimizer: optimizerExtensionSchema,
    sessionStore: sessionStoreSchema.optional(),
    streamResumption: z
      .strictObject({
        maxBytes: z
          .int32()
          .min(4_096)
          .max(8_388_608)
          .default(262_144)
          .describe('Bytes kept of the events of one session; the oldest go first.'),
      })
      .optional()
      .describe('Presence lets clients up to 2025-11-25 go on with a stream whose connection broke (Last-Event-ID).'),
    clientEra: z
      .enum(['auto', 'legacy'])
      .default('auto')
      .describe(
        'Revisions that clients are served: auto, all; legacy, those with sessions (2024-11-05 to 2025-11-25), which clients that begin with a newer one go back to.',
      ),
    callsPerSession: z
      .int32()
      .min(1)
      .max(1_024)
      .default(LIMITS.callsPerSession)
      .describe(
        `Calls of one session under way at a time; up to ${LIMITS.waitingCallsPerSession} more wait until one of them has ended.`,
      ),
    callsPerBackend: callsSchema
      .default(LIMITS.callsPerBackend)
      .describe(
        'Calls to one backend under way at a time, so that a slow backend leaves the room of the others alone; more are refused.',
      ),
    perWorkload: z
      .record(
        workloadNameSchema,
        z.strictObject({
          era: z
            .enum(['auto', 'legacy', 'modern'])
            .default('auto')
            .describe(
              'Revisions to speak to the backend: legacy, those with sessions (2024-11-05 to 2025-11-25); modern, 2026-07-28; auto, those of the client at hand where the backend knows them, else those that it knows.',
            ),
          calls: callsSchema
            .optional()
            .describe('Calls to the backend under way at a time, in place of callsPerBackend.'),
        }),
      )
      .default({})
      .describe('Settings of single workloads.'),
    heldCallTtl: durationOr('5m', { min: '10s', max: '30m' }).describe(
      'Time that a client of 2026-07-28 may take to come back with what a backend of an earlier revision asks in the middle of a call; the call is cancelled then.',
    ),
    sessionTtl: durationOr('30m', { min: '1m', max: '24h' }).describe(
      'Idle time after which a session ends. One with an open stream or a call under way is not idle.',
    ),
  })
  .describe(MEANING);

/** A resource also has keys that only the operator uses and no file has. */
export const resourceExtensionsSchema = extensionsSchema
  .extend({ service: serviceMetadataSchema.optional() })
  .describe(MEANING);

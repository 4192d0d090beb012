/* oxlint-disable typescript/no-unnecessary-type-parameters -- the inferred schemas depend on them */
import * as z from 'zod';
import { durationOr } from './durations.ts';
import { keyedList } from './keyed-list.ts';
import { exactlyOne, requiredWhen, rule, withRules } from './rules.ts';
import { hostPortSchema } from './scalars.ts';
import type { SecretSpelling, Shape } from './secret-spelling.ts';
import { upstreamProviderSchema } from './upstream-provider.ts';

/** HTTPS, or HTTP on this very machine; no query, no fragment, no trailing slash: docs/configuration.md "authServer" */
const issuerUrlSchema = z
  .string()
  .max(2048)
  .regex(/^(https:\/\/[^\s/?#@]+|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?)(\/[^\s?#]*[^\s?#/])?$/, {
    error:
      'not an issuer; write an https:// address (http:// only for localhost) without query, fragment and trailing slash',
  });

const tokenLifespansSchema = z.strictObject({
  accessTokenLifespan: durationOr('1h', { positive: true }).describe('Lifetime of access tokens.'),
  refreshTokenLifespan: durationOr('168h', { positive: true }).describe('Lifetime of refresh tokens.'),
  authCodeLifespan: durationOr('10m', { positive: true }).describe('Lifetime of authorization codes.'),
});

const sentinelSchema = withRules(
  z.strictObject({
    masterName: z.string().min(1).describe('Name of the monitored primary.'),
    db: z.int32().min(0).default(0).describe('Number of the database.'),
    sentinelAddrs: z.array(hostPortSchema).min(1).max(64).optional().describe('Sentinels as host:port.'),
    sentinelService: z
      .strictObject({
        name: z.string().min(1).describe('Name of the Service.'),
        namespace: z.string().min(1).optional().describe('Its namespace; the same when left out.'),
        port: z.int32().min(1).max(65_535).default(26_379).describe('Its port.'),
      })
      .optional()
      .describe('Service in front of the sentinels; exclusive with sentinelAddrs.'),
  }),
  exactlyOne('sentinelAddrs', 'sentinelService'),
).describe('Connection through sentinels; exclusive with addr.');

const clusterNeedsAddr = rule<{ readonly clusterMode?: unknown; readonly addr?: unknown }>({
  cel: '!has(self.clusterMode) || !self.clusterMode || has(self.addr)',
  holds: ({ clusterMode, addr }) => clusterMode !== true || addr !== undefined,
  reason: 'clusterMode needs addr',
  remedy: 'set addr, or remove clusterMode',
  field: 'clusterMode',
});

const sentinelTlsNeedsSentinels = rule<{ readonly sentinelTls?: unknown; readonly sentinelConfig?: unknown }>({
  cel: '!has(self.sentinelTls) || has(self.sentinelConfig)',
  holds: ({ sentinelTls, sentinelConfig }) => sentinelTls === undefined || sentinelConfig !== undefined,
  reason: 'sentinelTls needs sentinelConfig',
  remedy: 'set sentinelConfig, or write it as tls where addr is set',
  field: 'sentinelTls',
});

function kvstoreSchema<A extends Shape, T extends Shape>(secrets: { readonly aclUser: A; readonly tls: T }) {
  const tls = () =>
    z.strictObject({ ...secrets.tls, insecureSkipVerify: z.boolean().optional().describe('Accepts any certificate.') });
  return withRules(
    z.strictObject({
      aclUserConfig: z.strictObject(secrets.aclUser).describe('Credentials of the store.'),
      addr: hostPortSchema.optional().describe('Address of the store, or of one node of its cluster, as host:port.'),
      clusterMode: z.boolean().optional().describe('Uses the cluster protocol; needs addr.'),
      sentinelConfig: sentinelSchema.optional(),
      tls: tls().optional().describe('Presence turns TLS on for the data connection.'),
      sentinelTls: tls().optional().describe('Presence turns TLS on for the connections to sentinels.'),
      dialTimeout: durationOr('5s', { positive: true }).describe('Longest time to connect.'),
      readTimeout: durationOr('3s', { positive: true }).describe('Longest wait for an answer.'),
      writeTimeout: durationOr('3s', { positive: true }).describe('Longest wait for a write.'),
    }),
    exactlyOne('addr', 'sentinelConfig'),
    clusterNeedsAddr,
    sentinelTlsNeedsSentinels,
  );
}

function storageSchema<A extends Shape, T extends Shape>(secrets: { readonly aclUser: A; readonly tls: T }) {
  return withRules(
    z.strictObject({
      type: z.enum(['memory', 'kvstore']).default('memory').describe('Where tokens are kept.'),
      kvstore: kvstoreSchema(secrets).optional().describe('The key-value store; for type kvstore.'),
    }),
    requiredWhen({ key: 'type', is: 'kvstore' }, 'kvstore'),
  );
}

/**
 * EmbeddedAuthServerConfig. The shape is the same for resources and for the file but for the way secrets are spelled.
 */
export function embeddedAuthServerSchema<
  S extends Shape,
  A extends Shape,
  T extends Shape,
  C extends Shape,
  R extends Shape,
>(secrets: SecretSpelling<S, A, T, C, R>) {
  return z
    .strictObject({
      issuer: issuerUrlSchema.describe('Issuer, placed in the iss claim.'),
      authorizationEndpointBaseUrl: issuerUrlSchema
        .optional()
        .describe('Base of the advertised authorization endpoint; the other endpoints stay below the issuer.'),
      baselineClientScopes: z
        .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, { error: 'not a scope; write one word per item' }))
        .max(64)
        .optional()
        .describe('Scopes added to every client registration; each must be one of the supported scopes.'),
      ...secrets.server,
      tokenLifespans: tokenLifespansSchema.prefault({}).describe('Lifetimes of what is issued.'),
      storage: storageSchema(secrets).prefault({}).describe('Where tokens are kept.'),
      upstreamProviders: keyedList(upstreamProviderSchema(secrets), 'name')
        .min(1)
        .max(32)
        .describe('Identity providers that users are sent to, in this order.'),
    })
    .describe('Embedded OAuth authorization server.');
}

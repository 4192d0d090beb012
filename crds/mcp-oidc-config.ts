import * as z from 'zod';
import { httpUrlSchema, presentExactlyWhen, withRules } from '../runtime/config/index.ts';
import { AGE_COLUMN, REFERENCES_COLUMN, VALID_COLUMN, defineKind } from './kind.ts';
import { configMapKeyRef, nonEmpty, secretRef } from './kit.ts';
import { sharedConfigStatus } from './shared-config.ts';

const flag = () => z.boolean().default(false);

const inline = z.strictObject({
  issuer: nonEmpty().describe('Issuer that tokens must name.'),
  clientId: z.string().optional().describe('Client id used for introspection.'),
  clientSecretRef: secretRef()
    .optional()
    .describe('Secret key of the client secret; turns on introspection of opaque tokens.'),
  introspectionUrl: httpUrlSchema.optional().describe('Introspection endpoint (RFC 7662). Default: discovered.'),
  jwksUrl: httpUrlSchema.optional().describe('Address of the signing keys; skips discovery.'),
  jwksAllowPrivateIP: flag().describe('Allows discovery and keys at private addresses.'),
  protectedResourceAllowPrivateIP: flag().describe('Allows a private address as the resource of the metadata.'),
  insecureAllowHTTP: flag().describe('Allows a plain HTTP issuer; development only.'),
  caBundleRef: z
    .strictObject({ configMapRef: configMapKeyRef().describe('ConfigMap key that holds PEM certificates.') })
    .optional()
    .describe("Certificates that the issuer's own is verified against."),
});

export const mcpOidcConfig = defineKind({
  kind: 'MCPOIDCConfig',
  plural: 'mcpoidcconfigs',
  shortNames: ['mcpoidc'],
  description: 'Whose tokens are accepted, shared by the servers that refer to it.',
  spec: withRules(
    z.strictObject({
      type: z.enum(['inline', 'clusterServiceAccount']).describe('Which of the two blocks below is used.'),
      inline: inline.optional().describe('An OpenID Connect issuer.'),
      clusterServiceAccount: z
        .strictObject({})
        .optional()
        .describe("Service-account tokens of this cluster; issuer and keys are the API server's own."),
    }),
    ...presentExactlyWhen({ key: 'type', is: 'inline' }, 'inline'),
    ...presentExactlyWhen({ key: 'type', is: 'clusterServiceAccount' }, 'clusterServiceAccount'),
  ),
  status: sharedConfigStatus(),
  columns: [
    { name: 'Source', path: '.spec.type' },
    { name: 'Issuer', path: '.spec.inline.issuer' },
    VALID_COLUMN,
    REFERENCES_COLUMN,
    AGE_COLUMN,
  ],
});

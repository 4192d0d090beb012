import * as z from 'zod';

import { cloudStsSchema, presentExactlyWhen, withRules } from '../runtime/config/index.ts';
import { AGE_COLUMN, REFERENCES_COLUMN, VALID_COLUMN } from './columns.ts';
import { embeddedAuthServer } from './embedded-auth-server.ts';
import { defineKind } from './kind.ts';
import { nonEmpty, secretRef } from './kit.ts';
import { sharedConfigStatus } from './shared-config.ts';

const tokenExchange = z.strictObject({
  tokenUrl: z.string().describe('Token endpoint of the exchange (RFC 8693).'),
  audience: z.string().describe('Audience of the exchanged token.'),
  clientId: z.string().optional().describe('Client id at the token endpoint; not every flow needs one.'),
  clientSecretRef: secretRef().optional().describe('Secret key of the client secret; not every flow needs one.'),
  scopes: z.array(z.string()).optional().describe('Scopes to ask for.'),
  subjectTokenType: z
    .enum([
      'access_token',
      'id_token',
      'jwt',
      'urn:ietf:params:oauth:token-type:access_token',
      'urn:ietf:params:oauth:token-type:id_token',
      'urn:ietf:params:oauth:token-type:jwt',
    ])
    .default('access_token')
    .describe('Type of the token that is exchanged.'),
  externalTokenHeaderName: z
    .string()
    .optional()
    .describe('Header that gets the exchanged token. Absent: it replaces Authorization.'),
  subjectProviderName: z
    .string()
    .optional()
    .describe(
      'Upstream provider whose token is exchanged instead of the issued JWT. Default with an embedded authorization server: its first upstream.',
    ),
});

const siblings = {
  tokenExchange: tokenExchange.optional().describe('Exchanges the token of the caller (RFC 8693).'),
  headerInjection: z
    .strictObject({
      headerName: nonEmpty().describe('Name of the header.'),
      valueSecretRef: secretRef().describe('Secret key that holds the value.'),
    })
    .optional()
    .describe('Adds a header whose value is in a Secret.'),
  bearerToken: z
    .strictObject({ tokenSecretRef: secretRef().describe('Secret key that holds the token.') })
    .optional()
    .describe('Sends a bearer token that is in a Secret.'),
  embeddedAuthServer: embeddedAuthServer
    .optional()
    .describe('An authorization server of its own, for the server that refers to this object.'),
  cloudSts: cloudStsSchema.optional().describe('Assumes a role with the token of the caller and signs requests.'),
  upstreamInject: z
    .strictObject({
      providerName: nonEmpty().describe('Upstream provider whose access token is sent as Authorization: Bearer.'),
    })
    .optional()
    .describe('Sends the token that the user got at an upstream provider.'),
};

const types = [...Object.keys(siblings), 'unauthenticated'];

export const mcpExternalAuthConfig = defineKind({
  kind: 'MCPExternalAuthConfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  description: 'How a server authenticates to a service outside, shared by the workloads that refer to it.',
  spec: withRules(
    z.strictObject({
      type: z.enum(types).describe('Which of the blocks below is used; unauthenticated uses none.'),
      ...siblings,
    }),
    ...Object.keys(siblings).flatMap((name) => presentExactlyWhen({ key: 'type', is: name }, name)),
  ),
  status: sharedConfigStatus(),
  columns: [{ name: 'Type', path: '.spec.type' }, VALID_COLUMN, REFERENCES_COLUMN, AGE_COLUMN],
});

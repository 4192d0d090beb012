import * as z from 'zod';
import { httpNeedsFlag, issuerCaBundleSchema, issuerKeysSchema, issuerShape } from './issuers.ts';
import { requiredWhen, rule, withRules } from './rules.ts';
import { filePathSchema } from './file-paths.ts';
import { httpUrlSchema, providerNameSchema } from './scalars.ts';

const oidcShape = {
  issuer: httpUrlSchema.describe('Issuer of the tokens.'),
  audience: z.string().min(1).describe('Audience that tokens must have.'),
  clientId: z.string().min(1).describe('Client id, for introspection.'),
  clientSecretEnv: z.string().min(1).optional().describe('Environment variable that holds the client secret.'),
  introspectionUrl: httpUrlSchema
    .optional()
    .describe(
      'Introspection endpoint (RFC 7662), for opaque tokens; found by discovery when left out and there is a client secret. With neither, opaque tokens are refused.',
    ),
  ...issuerShape,
  protectedResourceAllowPrivateIp: z
    .boolean()
    .optional()
    .describe('Allows a private address as the resource of the protected-resource metadata.'),
  resource: z
    .string()
    .optional()
    .describe(
      'Resource indicator (RFC 8707) in WWW-Authenticate and in the metadata (RFC 9728); the audience when left out.',
    ),
  scopes: z.array(z.string()).optional().describe('Scopes that every token must have.'),
};

const authzShape = {
  type: z.enum(['cedar', 'none']).describe('Policy language, or none.'),
  policies: z.array(z.string()).optional().describe('Cedar policies; for type cedar.'),
  primaryUpstreamProvider: providerNameSchema
    .optional()
    .describe(
      'Upstream provider of the embedded server whose access token supplies the claims for policies; those of the issued token when left out.',
    ),
};

/** What only the file says of the issuer. */
const fileOidcShape = {
  clientSecretFile: filePathSchema.optional().describe('File that holds the client secret.'),
  advertisedScopes: z.array(z.string()).optional().describe('Scopes shown in the protected-resource metadata.'),
  issuerKeys: issuerKeysSchema,
  caBundlePath: issuerCaBundleSchema,
};

/** Policy entities, wherever policies are written but in `config.incomingAuth`. */
export const entitiesJsonSchema = z.string().default('[]').describe('Policy entities as JSON text.');

interface FileOnly<Authz, More> {
  readonly authz: Authz;
  readonly more: More;
}

const incomingAuthOf = <
  Oidc extends z.ZodType,
  Authz extends z.core.$ZodLooseShape,
  More extends z.core.$ZodLooseShape,
>(
  oidc: Oidc,
  { authz: moreAuthz, more }: FileOnly<Authz, More>,
) =>
  withRules(
    z.strictObject({
      ...more,
      type: z
        .enum(['oidc', 'local', 'anonymous'])
        .describe(
          'Who may connect. oidc: holders of a valid token. local: the user of the operating system. anonymous: everybody, without access control.',
        ),
      oidc: oidc.optional().describe('How tokens are validated; for type oidc.'),
      authz: withRules(
        z.strictObject({ ...authzShape, ...moreAuthz }),
        requiredWhen({ key: 'type', is: 'cedar' }, 'policies'),
      )
        .optional()
        .describe('Who may call what.'),
    }),
    requiredWhen({ key: 'type', is: 'oidc' }, 'oidc'),
  );

/** docs/configuration.md "incomingAuth" */
export const incomingAuthSchema = incomingAuthOf(z.strictObject(oidcShape), { authz: {}, more: {} }).describe(
  'Client authentication; superseded by spec.incomingAuth in the cluster.',
);

const relayedWithoutCallers = rule<{ readonly relaysCredentials?: unknown; readonly type?: unknown }>({
  // Only the file has it.
  cel: 'true',
  holds: ({ relaysCredentials, type }) => relaysCredentials !== true || type === 'anonymous',
  reason: 'relaysCredentials is for servers that ask no caller for a token',
  remedy: 'keep it to the file of a proxy that the operator writes',
  field: 'relaysCredentials',
});

/** The same in the file. */
export const fileIncomingAuthSchema = withRules(
  incomingAuthOf(withRules(z.strictObject({ ...oidcShape, ...fileOidcShape }), httpNeedsFlag), {
    authz: { entitiesJson: entitiesJsonSchema },
    more: {
      relaysCredentials: z
        .boolean()
        .default(false)
        .describe(
          'Whether the token in the header Vmcp-Relayed-Authorization of a request, which is not verified here, is what outgoing strategies take for the caller; whoever gets it verifies it.',
        ),
    },
  }),
  relayedWithoutCallers,
).describe('Client authentication.');

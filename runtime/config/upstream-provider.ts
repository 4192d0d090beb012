/* oxlint-disable typescript/no-unnecessary-type-parameters -- the inferred schemas depend on them */
import * as z from 'zod';
import { exactlyOne, presentExactlyWhen, rule, withRules } from './rules.ts';
import { httpsUrlSchema, httpUrlSchema, providerNameSchema, stringMap } from './scalars.ts';
import type { Shape } from './secret-spelling.ts';

/**
 * Parameters that belong to the authorization request itself: `additionalAuthorizationParams` of docs/configuration.md
 * "authServer"
 */
const MANAGED_PARAMETERS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  // The answer would come in another form, or the request would be another one.
  'response_mode',
  'request',
  'request_uri',
] as const;

type Fields = Readonly<Record<string, unknown>>;

const authorizationParamsSchema = () =>
  withRules(
    stringMap().meta({ maxProperties: 32 }),
    rule<Fields>({
      cel: `self.all(key, !(key in [${MANAGED_PARAMETERS.map((name) => `'${name}'`).join(', ')}]))`,
      holds: (parameters) => MANAGED_PARAMETERS.every((name) => parameters[name] === undefined),
      reason: `${MANAGED_PARAMETERS.join(', ')} are set by the server`,
      remedy: 'remove them',
    }),
  )
    .optional()
    .describe('Further parameters of the authorization request.');

const fieldsOr = (name: string, meaning: string) =>
  z.array(z.string().min(1)).min(1).default([name]).describe(`${meaning}, in order; the first that is not empty wins.`);

const userInfoSchema = z.strictObject({
  endpointUrl: httpUrlSchema.describe('Address of the endpoint.'),
  httpMethod: z.enum(['GET', 'POST']).default('GET').describe('Method of the request.'),
  additionalHeaders: stringMap().optional().describe('Further headers of the request.'),
  fieldMapping: z
    .strictObject({
      subjectFields: fieldsOr('sub', 'Fields that hold the subject'),
      nameFields: fieldsOr('name', 'Fields that hold the name'),
      emailFields: fieldsOr('email', 'Fields that hold the e-mail address'),
    })
    .prefault({})
    .describe('Where the answer holds what.'),
});

const pathSchema = z.string().min(1).max(256);

const identityFromTokenSchema = z
  .strictObject({
    subjectPath: pathSchema.describe('Path of the subject, such as access_token|@upstreamjwt|sub.'),
    namePath: pathSchema.optional().describe('Path of the name.'),
    emailPath: pathSchema.optional().describe('Path of the e-mail address.'),
  })
  .describe('Takes the identity from the token response by dotted paths, instead of a userinfo request.');

const tokenResponseMappingSchema = z
  .strictObject({
    accessTokenPath: z.string().min(1).describe('Path of the access token.'),
    refreshTokenPath: z.string().min(1).default('refresh_token').describe('Path of the refresh token.'),
    scopePath: z.string().min(1).default('scope').describe('Path of the scope.'),
    expiresInPath: z.string().min(1).default('expires_in').describe('Path of the lifetime in seconds.'),
  })
  .describe('Paths into a token response that is not a standard one.');

const redirectUri = () =>
  httpUrlSchema.optional().describe('Redirect address registered there; {resource_url}/oauth/callback when left out.');

function oidcConfigSchema<C extends Shape>(client: C) {
  return z.strictObject({
    issuerUrl: httpsUrlSchema.describe('Issuer of the provider.'),
    clientId: z.string().min(1).describe('Client id there.'),
    ...client,
    redirectUri: redirectUri(),
    scopes: z.array(z.string()).default(['openid', 'offline_access']).describe('Scopes to ask for.'),
    additionalAuthorizationParams: authorizationParamsSchema(),
    userInfoOverride: userInfoSchema.optional().describe('Userinfo endpoint to use instead of the discovered one.'),
  });
}

function dcrConfigSchema<R extends Shape>(registration: R) {
  return withRules(
    z.strictObject({
      discoveryUrl: httpsUrlSchema.optional().describe('Metadata document; exclusive with registrationEndpoint.'),
      registrationEndpoint: httpsUrlSchema.optional().describe('Registration endpoint; no discovery then.'),
      ...registration,
      softwareId: z.string().max(255).optional().describe('Identifies the software.'),
      softwareStatement: z
        .string()
        .max(16_384)
        .optional()
        .describe('Signed statement about the software; not a secret.'),
    }),
    exactlyOne('discoveryUrl', 'registrationEndpoint'),
  ).describe('Registers the client dynamically (RFC 7591) instead of clientId.');
}

const registrationOf = ({ dcrConfig }: Fields): Fields => (dcrConfig ?? {}) as Fields;

/** Required, yet discovery may give them: docs/decisions.md "Endpoints that discovery may fill" */
const endpointUnlessDiscovered = (key: string) =>
  rule<Fields>({
    cel: `has(self.${key}) || (has(self.dcrConfig) && has(self.dcrConfig.discoveryUrl))`,
    holds: (config) => config[key] !== undefined || registrationOf(config)['discoveryUrl'] !== undefined,
    reason: `${key} is required`,
    remedy: `set ${key}, or dcrConfig.discoveryUrl to find it`,
  });

const scopesForRegistration = rule<Fields>({
  cel: '!has(self.dcrConfig) || !has(self.dcrConfig.registrationEndpoint) || (has(self.scopes) && size(self.scopes) > 0)',
  holds: (config) =>
    registrationOf(config)['registrationEndpoint'] === undefined ||
    (Array.isArray(config['scopes']) && config['scopes'].length > 0),
  reason: 'dcrConfig.registrationEndpoint needs scopes',
  remedy: 'list the scopes to ask for, or use dcrConfig.discoveryUrl',
});

function oauth2ConfigSchema<C extends Shape, R extends Shape>(client: C, registration: R) {
  return withRules(
    z.strictObject({
      authorizationEndpoint: httpUrlSchema.optional().describe('Authorization endpoint.'),
      tokenEndpoint: httpUrlSchema.optional().describe('Token endpoint.'),
      clientId: z.string().optional().describe('Client id there; exclusive with dcrConfig.'),
      ...client,
      redirectUri: redirectUri(),
      scopes: z.array(z.string()).optional().describe('Scopes to ask for.'),
      additionalAuthorizationParams: authorizationParamsSchema(),
      userInfo: userInfoSchema.optional().describe('Userinfo endpoint.'),
      identityFromToken: identityFromTokenSchema.optional(),
      tokenResponseMapping: tokenResponseMappingSchema.optional(),
      dcrConfig: dcrConfigSchema(registration).optional(),
    }),
    clientIdOrRegistration,
    endpointUnlessDiscovered('authorizationEndpoint'),
    endpointUnlessDiscovered('tokenEndpoint'),
    scopesForRegistration,
  );
}

/** "must be empty when dcrConfig is set": an empty text counts as left out. */
const clientIdOrRegistration = rule<Fields>({
  cel: "(has(self.clientId) && self.clientId != '') != has(self.dcrConfig)",
  holds: ({ clientId, dcrConfig }) => (clientId !== undefined && clientId !== '') !== (dcrConfig !== undefined),
  reason: 'exactly one of clientId and dcrConfig must be set',
  remedy: 'set clientId, or dcrConfig to register one',
});

/** `upstreamProviders[]` of docs/configuration.md "authServer" */
export function upstreamProviderSchema<C extends Shape, R extends Shape>({
  client,
  registration,
}: {
  readonly client: C;
  readonly registration: R;
}) {
  return withRules(
    z.strictObject({
      name: providerNameSchema.describe('Unique name of the provider.'),
      type: z.enum(['oidc', 'oauth2']).describe('Kind of provider.'),
      oidcConfig: oidcConfigSchema(client).optional().describe('The provider; for type oidc.'),
      oauth2Config: oauth2ConfigSchema(client, registration).optional().describe('The provider; for type oauth2.'),
    }),
    ...presentExactlyWhen({ key: 'type', is: 'oidc' }, 'oidcConfig'),
    ...presentExactlyWhen({ key: 'type', is: 'oauth2' }, 'oauth2Config'),
  );
}

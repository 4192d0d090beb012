import * as z from 'zod';
import { notYet } from './not-yet.ts';
import { atLeastOne, atMostOne, exactlyOne, presentExactlyWhen, withRules } from './rules.ts';
import { filePathSchema } from './file-paths.ts';
import { httpUrlSchema, providerNameSchema, workloadNameSchema } from './scalars.ts';

const headerInjectionShape = {
  headerName: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'not a header name; use letters, digits and hyphens' })
    .describe('Header to set.'),
  headerValue: z.string().optional().describe('Its value; exclusive with headerValueEnv.'),
  headerValueEnv: z.string().min(1).optional().describe('Environment variable that holds the value.'),
};

const tokenExchangeShape = {
  tokenUrl: httpUrlSchema.describe('Token endpoint (RFC 8693).'),
  audience: z.string().optional().describe('Audience of the exchanged token.'),
  clientId: z.string().optional().describe('Client id.'),
  clientSecret: z.string().optional().describe('Client secret; prefer clientSecretEnv.'),
  clientSecretEnv: z.string().min(1).optional().describe('Environment variable that holds the client secret.'),
  scopes: z.array(z.string()).optional().describe('Scopes to ask for.'),
  subjectTokenType: z
    .string()
    .default('urn:ietf:params:oauth:token-type:access_token')
    .describe('Type of the subject token.'),
  subjectProviderName: providerNameSchema
    .optional()
    .describe('Upstream provider whose token is the subject token; the first one when there is an embedded server.'),
};

const upstreamInjectSchema = z
  .strictObject({ providerName: providerNameSchema.describe('Upstream provider whose access token is sent.') })
  .describe('For type upstream_inject.');

/** Role identifier. spec: cloudSts.fallbackRoleArn */
export const roleArnSchema = z
  .string()
  .max(2048)
  .regex(/^arn:[a-z0-9-]+:iam::[0-9]{12}:role\/[\w+=,.@/-]+$/, {
    error: 'not a role; write arn:<partition>:iam::<12-digit-account>:role/<path>',
  });

const roleMappingSchema = withRules(
  z.strictObject({
    roleArn: roleArnSchema.describe('Role to take.'),
    claim: z.string().min(1).optional().describe('Value to find in the claim that roleClaim names.'),
    matcher: z.string().min(1).optional().describe('CEL expression over claims; exclusive with claim.'),
    priority: z.int32().min(0).optional().describe('Lower is tried first; last when left out, ties in list order.'),
  }),
  exactlyOne('claim', 'matcher'),
);

/** spec: MCPExternalAuthConfig.spec.cloudSts, and the strategy of the same name. */
export const cloudStsSchema = withRules(
  z.strictObject({
    region: z
      .string()
      .max(64)
      .regex(/^[a-z]{2}(-[a-z]+)+-[0-9]+$/, { error: 'not a region; write, for instance, us-east-1' })
      .describe('Region of the service.'),
    fallbackRoleArn: roleArnSchema.optional().describe('Role when no mapping matches.'),
    roleClaim: z.string().min(1).default('groups').describe('Claim that the claim values of mappings are sought in.'),
    roleMappings: z.array(roleMappingSchema).max(64).optional().describe('Roles by claims.'),
    service: z.string().min(1).default('cloud-mcp').describe('Service name in signatures.'),
    sessionDuration: z.int32().min(900).max(43_200).default(3600).describe('Lifetime of the role session in seconds.'),
    sessionNameClaim: z.string().min(1).default('sub').describe('Claim that names the role session.'),
    subjectProviderName: providerNameSchema
      .optional()
      .describe('Upstream provider whose token is presented; the incoming bearer token without an embedded server.'),
  }),
  atLeastOne(['fallbackRoleArn'], { lists: ['roleMappings'] }),
).describe('Signed requests through role assumption with web identity; for type cloud_sts.');

const words = ['unauthenticated', 'header_injection', 'token_exchange', 'upstream_inject', 'cloud_sts', 'obo'] as const;
const typeMeaning = 'Strategy; obo is a reserved word that nothing serves.';
const feature = 'authenticating to backends';

const typeOf = <T extends readonly [string, ...string[]]>(values: T) =>
  notYet(z.enum(values).describe(typeMeaning), feature, { except: ['unauthenticated'] });

const siblings = [
  ...presentExactlyWhen({ key: 'type', is: 'header_injection' }, 'headerInjection'),
  ...presentExactlyWhen({ key: 'type', is: 'token_exchange' }, 'tokenExchange'),
  ...presentExactlyWhen({ key: 'type', is: 'upstream_inject' }, 'upstreamInject'),
  ...presentExactlyWhen({ key: 'type', is: 'cloud_sts' }, 'cloudSts'),
];

/** spec: config.outgoingAuth.default and .backends.<name> */
export const strategySchema = withRules(
  z.strictObject({
    type: typeOf(words),
    headerInjection: notYet(
      withRules(z.strictObject(headerInjectionShape), exactlyOne('headerValue', 'headerValueEnv'))
        .optional()
        .describe('Header with a fixed value; for type header_injection.'),
      feature,
    ),
    tokenExchange: notYet(
      withRules(z.strictObject(tokenExchangeShape), atMostOne('clientSecret', 'clientSecretEnv'))
        .optional()
        .describe('Token exchange; for type token_exchange.'),
      feature,
    ),
    upstreamInject: notYet(upstreamInjectSchema.optional(), feature),
    cloudSts: notYet(cloudStsSchema.optional(), feature),
  }),
  ...siblings,
);

/** The same in the file, which also names files that hold secrets. */
export const fileStrategySchema = withRules(
  z.strictObject({
    type: typeOf([...words, 'bearer_token']),
    headerInjection: notYet(
      withRules(
        z.strictObject({
          ...headerInjectionShape,
          headerValueFile: filePathSchema.optional().describe('File that holds the value.'),
        }),
        exactlyOne('headerValue', 'headerValueEnv', 'headerValueFile'),
      )
        .optional()
        .describe('Header with a fixed value; for type header_injection.'),
      feature,
    ),
    tokenExchange: notYet(
      withRules(
        z.strictObject({
          ...tokenExchangeShape,
          clientSecretFile: filePathSchema.optional().describe('File that holds the client secret.'),
          externalTokenHeaderName: z
            .string()
            .min(1)
            .optional()
            .describe('Header for the exchanged token; Authorization when left out.'),
        }),
        atMostOne('clientSecret', 'clientSecretEnv', 'clientSecretFile'),
      )
        .optional()
        .describe('Token exchange; for type token_exchange.'),
      feature,
    ),
    bearerToken: notYet(
      z
        .strictObject({ tokenFile: filePathSchema.describe('File that holds the token.') })
        .optional()
        .describe('Fixed token; for type bearer_token.'),
      feature,
    ),
    upstreamInject: notYet(upstreamInjectSchema.optional(), feature),
    cloudSts: notYet(cloudStsSchema.optional(), feature),
  }),
  ...siblings,
  ...presentExactlyWhen({ key: 'type', is: 'bearer_token' }, 'bearerToken'),
);

const outgoingAuthOf = <S extends z.ZodType>(strategy: S) =>
  z.strictObject({
    source: z
      .enum(['inline', 'discovered'])
      .describe('Whether backends and their authentication are listed here or found in the group.'),
    default: strategy.optional().describe('Strategy of backends without an entry of their own.'),
    backends: z.record(workloadNameSchema, strategy).default({}).describe('Strategies by backend name.'),
  });

const meaning = 'Authentication to the backends.';

/** spec: config.outgoingAuth */
export const outgoingAuthSchema = outgoingAuthOf(strategySchema).describe(
  `${meaning} Superseded by spec.outgoingAuth in the cluster.`,
);

/** The same in the file. */
export const fileOutgoingAuthSchema = outgoingAuthOf(fileStrategySchema).describe(meaning);

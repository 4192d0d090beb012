import * as z from 'zod';
import { compileCondition, MAX_EXPRESSION } from '../../cel/index.ts';
import { atLeastOne, exactlyOne, withRules } from '../rules.ts';
import { providerNameSchema } from '../scalars.ts';
import { defineStrategy, subjectProvider } from './slice.ts';

/** Role identifier: `cloudSts.fallbackRoleArn` of docs/resources.md "MCPExternalAuthConfig" */
const roleArnSchema = z
  .string()
  .max(2048)
  .regex(/^arn:[a-z0-9-]+:iam::[0-9]{12}:role\/[\w+=,.@/-]+$/, {
    error: 'not a role; write arn:<partition>:iam::<12-digit-account>:role/<path>',
  });

/** Variables of matchers. */
const VARIABLES = ['claims'];

/** An expression that cannot be evaluated would only be found when a user calls. */
const matcherSchema = z
  .string()
  .min(1)
  .max(MAX_EXPRESSION)
  .superRefine((text, context) => {
    // That it is too long or empty is said already.
    if (text === '' || text.length > MAX_EXPRESSION) return;
    const compiled = compileCondition(text, VARIABLES);
    if (compiled.ok) return;
    const message = `no CEL condition over claims: ${compiled.reason}; write, for instance, "admins" in claims.groups`;
    context.addIssue({ code: 'custom', message });
  });

/** Name of a claim, which may be a URL. */
const claimNameSchema = z.string().min(1).max(256);

const roleMappingSchema = withRules(
  z.strictObject({
    roleArn: roleArnSchema.describe('Role to take.'),
    claim: z.string().min(1).max(1024).optional().describe('Value to find in the claim that roleClaim names.'),
    matcher: matcherSchema.optional().describe('CEL expression over claims; exclusive with claim.'),
    priority: z.int32().min(0).optional().describe('Lower is tried first; last when left out, ties in list order.'),
  }),
  exactlyOne('claim', 'matcher'),
);

/** The same in every spelling: there is no secret in it. */
const block = withRules(
  z.strictObject({
    region: z
      .string()
      .max(64)
      .regex(/^[a-z]{2}(-[a-z]+)+-[0-9]+$/, { error: 'not a region; write, for instance, us-east-1' })
      .describe('Region of the service.'),
    fallbackRoleArn: roleArnSchema.optional().describe('Role when no mapping matches.'),
    roleClaim: claimNameSchema.default('groups').describe('Claim that the claim values of mappings are sought in.'),
    roleMappings: z.array(roleMappingSchema).max(64).optional().describe('Roles by claims.'),
    service: z
      .string()
      .min(1)
      .max(64)
      .regex(/^[A-Za-z0-9-]+$/, { error: 'not a service name; use letters, digits and hyphens' })
      .default('cloud-mcp')
      .describe('Service name in signatures.'),
    sessionDuration: z.int32().min(900).max(43_200).default(3600).describe('Lifetime of the role session in seconds.'),
    sessionNameClaim: claimNameSchema.default('sub').describe('Claim that names the role session.'),
    subjectProviderName: providerNameSchema
      .optional()
      .describe('Upstream provider whose token is presented; the incoming bearer token without an embedded server.'),
  }),
  atLeastOne(['fallbackRoleArn'], { lists: ['roleMappings'] }),
).describe('Signed requests through role assumption with web identity; for type cloud_sts.');

/** A role of the user's at a cloud provider, whose credentials sign the requests. */
export const cloudSts = defineStrategy({
  type: 'cloud_sts',
  isSupported: true,
  config: block,
  file: block,
  resource: () => block.describe('Assumes a role with the token of the caller and signs requests.'),
  toFile: ({ subjectProviderName, ...rest }, context) => ({
    ...rest,
    ...subjectProvider(subjectProviderName, context),
  }),
  provider: 'subjectProviderName',
});

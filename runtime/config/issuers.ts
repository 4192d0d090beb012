import * as z from 'zod';
import { filePathSchema } from './file-paths.ts';
import { keyedList } from './keyed-list.ts';
import { rule, withRules } from './rules.ts';
import { httpUrlSchema } from './scalars.ts';

/** What is said of every issuer, wherever it is named. */
export const issuerShape = {
  jwksUrl: httpUrlSchema.optional().describe('Address of the keys; found by discovery when left out.'),
  jwksAllowPrivateIp: z
    .boolean()
    .optional()
    .describe('Allows discovery, keys and introspection at private addresses, for an embedded server on loopback.'),
  insecureAllowHttp: z.boolean().optional().describe('Allows issuers without TLS; for development only.'),
};

/** Public keys of an issuer, in place of fetching them. */
export const issuerKeysSchema = z
  .strictObject({ keys: z.array(z.record(z.string(), z.unknown())).max(100).describe('The keys (JWK).') })
  .optional()
  .describe('Public keys of the issuer (JWK set), used instead of fetching them.');

export const issuerCaBundleSchema = filePathSchema
  .optional()
  .describe('File with the certificate authorities of the issuer.');

export const httpNeedsFlag = rule<{ readonly issuer?: unknown; readonly insecureAllowHttp?: unknown }>({
  cel: "!self.issuer.startsWith('http://') || (has(self.insecureAllowHttp) && self.insecureAllowHttp)",
  holds: ({ issuer, insecureAllowHttp }) => !String(issuer).startsWith('http://') || insecureAllowHttp === true,
  reason: 'an issuer without TLS is not allowed',
  remedy: 'use https://',
  field: 'issuer',
});

const MAX_MAPPED_CLAIMS = 32;
const claimName = () => z.string().min(1).max(256);

/** One issuer beside that of `incomingAuth.oidc`. */
const furtherIssuerSchema = z.strictObject({
  issuer: httpUrlSchema.describe('Issuer of the tokens.'),
  audience: z
    .string()
    .min(1)
    .max(2_048)
    .optional()
    .describe('Audience that its tokens must have; that of the first issuer when left out.'),
  ...issuerShape,
  issuerKeys: issuerKeysSchema,
  caBundlePath: issuerCaBundleSchema,
  scopes: z.array(z.string().min(1).max(256)).max(64).optional().describe('Scopes that each of its tokens must have.'),
  claimMapping: z
    .record(claimName(), claimName())
    .refine((mapping) => Object.keys(mapping).length <= MAX_MAPPED_CLAIMS, {
      error: `more than ${MAX_MAPPED_CLAIMS} claims; map fewer`,
    })
    .meta({ maxProperties: MAX_MAPPED_CLAIMS })
    .default({})
    .describe(
      'Claims as they are used here, each with the claim of the token that it is taken from, as sub: oid. The claim sub is the user.',
    ),
});

/** Claims that the checks of a token read, which no other claim may stand for. */
const FIXED = ['iss', 'aud', 'exp', 'nbf'];

/** `extensions.issuers` of docs/configuration.md "extensions" */
export const furtherIssuersSchema = keyedList(
  withRules(
    furtherIssuerSchema,
    httpNeedsFlag,
    rule({
      cel: `!has(self.claimMapping) || ${FIXED.map((name) => `!('${name}' in self.claimMapping)`).join(' && ')}`,
      // A resource is judged before its defaults are there.
      holds: ({ claimMapping }) => FIXED.every((name) => !Object.hasOwn(claimMapping ?? {}, name)),
      reason: `${FIXED.join(', ')} are checked as the token has them`,
      remedy: 'map other claims',
      field: 'claimMapping',
    }),
  ),
  'issuer',
)
  .max(16)
  .default([])
  .describe('Further issuers whose tokens are taken, beside that of incomingAuth.oidc.');

import * as z from 'zod';
import { filePathSchema } from '../file-paths.ts';
import { headerNameSchema } from '../header-fields.ts';
import { atMostOne, rule, withRules } from '../rules.ts';
import { httpUrlSchema, providerNameSchema } from '../scalars.ts';
import { type SecretRefSchema, defineStrategy, subjectProvider } from './slice.ts';

/** RFC 6749 §3.3: scopes are sent in one text, separated by blanks. */
const scopeSchema = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, {
  error: 'not a scope; write each scope as an entry of its own, without blanks and quotes',
});

const scopes = z.array(scopeSchema).optional().describe('Scopes to ask for.');

const clientId = z.string().min(1).optional();

const URN = 'urn:ietf:params:oauth:token-type:';
const SUBJECT_TOKEN_TYPES = ['access_token', 'id_token', 'jwt'] as const;

/** Token types are URIs (RFC 8693 §3); anything else is a short form that is misspelt. */
const subjectTokenTypeSchema = z
  .string()
  .regex(new RegExp(`^(${SUBJECT_TOKEN_TYPES.join('|')}|[A-Za-z][A-Za-z0-9+.-]*:[\\x21-\\x7e]+)$`), {
    error: `not a token type; write ${SUBJECT_TOKEN_TYPES.join(', ')} or a URI`,
  });

const inConfig = {
  tokenUrl: httpUrlSchema.describe('Token endpoint (RFC 8693).'),
  audience: z.string().optional().describe('Audience of the exchanged token.'),
  clientId: clientId.describe('Client id; without a secret it names a public client.'),
  clientSecret: z.string().min(1).optional().describe('Client secret; prefer clientSecretEnv.'),
  clientSecretEnv: z.string().min(1).optional().describe('Environment variable that holds the client secret.'),
  scopes,
  subjectTokenType: subjectTokenTypeSchema
    .default('urn:ietf:params:oauth:token-type:access_token')
    .describe('Type of the subject token.'),
  subjectProviderName: providerNameSchema
    .optional()
    .describe('Upstream provider whose token is the subject token; the first one when there is an embedded server.'),
};

const inFile = {
  ...inConfig,
  clientSecretFile: filePathSchema.optional().describe('File that holds the client secret.'),
  externalTokenHeaderName: headerNameSchema
    .optional()
    .describe('Header for the exchanged token; Authorization when left out.'),
};

/** RFC 6749 §2.3.1: a secret authenticates a client. Without one `clientId` names a public client. */
const secretOfClient = (...secrets: readonly string[]) =>
  rule<Readonly<Record<string, unknown>>>({
    cel: `has(self.clientId) || !(${secrets.map((key) => `has(self.${key})`).join(' || ')})`,
    holds: (block) => block['clientId'] !== undefined || secrets.every((key) => block[key] === undefined),
    reason: 'a client secret without clientId authenticates no client',
    remedy: 'set clientId',
  });

const resource = (secretRef: SecretRefSchema) =>
  withRules(
    z.strictObject({
      tokenUrl: z.string().describe('Token endpoint of the exchange (RFC 8693).'),
      audience: z.string().describe('Audience of the exchanged token.'),
      clientId: clientId.describe('Client id at the token endpoint; not every flow needs one.'),
      clientSecretRef: secretRef.optional().describe('Secret key of the client secret; not every flow needs one.'),
      scopes,
      subjectTokenType: z
        .enum([...SUBJECT_TOKEN_TYPES, ...SUBJECT_TOKEN_TYPES.map((type) => `${URN}${type}` as const)])
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
    }),
    secretOfClient('clientSecretRef'),
  ).describe('Exchanges the token of the caller (RFC 8693).');

/** docs/decisions.md "Literal header values". Everybody who can read the resource could read it. */
const noClientSecret = rule<{ readonly clientSecret?: unknown }>({
  cel: '!has(self.clientSecret)',
  holds: ({ clientSecret }) => clientSecret === undefined,
  reason: 'clientSecret would put a secret into the resource',
  remedy: 'put it into a Secret that an MCPExternalAuthConfig refers to, or use clientSecretEnv',
  field: 'clientSecret',
});

/**
 * `tokenExchange.subjectTokenType` has short forms (docs/resources.md "MCPExternalAuthConfig"); the file has RFC 8693's
 * own.
 */
export const tokenTypeUri = (type: string): string => (type.includes(':') ? type : `${URN}${type}`);

const meaning = 'Token exchange; for type token_exchange.';

/** Exchanges the caller's token for one that the backend takes (RFC 8693). */
export const tokenExchange = defineStrategy({
  type: 'token_exchange',
  isSupported: true,
  config: withRules(
    z.strictObject(inConfig),
    atMostOne('clientSecret', 'clientSecretEnv'),
    secretOfClient('clientSecret', 'clientSecretEnv'),
    noClientSecret,
  ).describe(meaning),
  file: withRules(
    z.strictObject(inFile),
    atMostOne('clientSecret', 'clientSecretEnv', 'clientSecretFile'),
    secretOfClient('clientSecret', 'clientSecretEnv', 'clientSecretFile'),
  ).describe(meaning),
  resource,
  toFile: ({ clientSecretRef, subjectTokenType, externalTokenHeaderName, subjectProviderName, ...rest }, context) => ({
    ...rest,
    // A header left empty counts as left out.
    ...(externalTokenHeaderName && { externalTokenHeaderName }),
    ...(clientSecretRef && { clientSecretFile: context.fileOf(clientSecretRef) }),
    ...(subjectTokenType !== undefined && { subjectTokenType: tokenTypeUri(subjectTokenType) }),
    ...subjectProvider(subjectProviderName, context),
  }),
  provider: 'subjectProviderName',
  addresses: ['tokenUrl'],
  headers: ['externalTokenHeaderName'],
});

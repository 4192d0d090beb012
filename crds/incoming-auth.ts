import * as z from 'zod';

import {
  entitiesJsonSchema,
  presentExactlyWhen,
  providerNameSchema,
  rule,
  withRules,
} from '../runtime/config/index.ts';
import { nonEmpty, refWith } from './kit.ts';

/** `spec.incomingAuth.oidcConfigRef` of docs/resources.md "VirtualMCPServer" */
export const oidcConfigRef = () =>
  refWith(
    'MCPOIDCConfig',
    {
      audience: nonEmpty().describe(
        'Audience that tokens must name. Give every server its own, so that a token for one cannot be replayed at another.',
      ),
      resourceUrl: z
        .string()
        .optional()
        .describe('Public URL named in the protected-resource metadata (RFC 9728). Default: the internal service URL.'),
      scopes: z.array(z.string()).default(['openid']).describe('Scopes advertised in the protected-resource metadata.'),
    },
    nonEmpty(),
  );

const inlinePolicies = z.strictObject({
  policies: z.array(z.string()).describe('Policies in the Cedar language.'),
  entitiesJson: entitiesJsonSchema,
  primaryUpstreamProvider: providerNameSchema
    .optional()
    .describe(
      'Upstream provider whose access-token claims the policies see. Default: the first one of the embedded authorization server.',
    ),
});

/** `spec.incomingAuth.authzConfig` of docs/resources.md "VirtualMCPServer" */
export const authzConfig = () =>
  withRules(
    z.strictObject({
      type: z.enum(['configMap', 'inline']).default('configMap').describe('Where the policies are.'),
      configMap: refWith('ConfigMap', {
        key: z.string().default('authz.json').describe('Key inside the ConfigMap.'),
      })
        .optional()
        .describe('ConfigMap that holds the policies.'),
      inline: inlinePolicies.optional().describe('The policies themselves.'),
    }),
    ...presentExactlyWhen({ key: 'type', is: 'configMap' }, 'configMap'),
    ...presentExactlyWhen({ key: 'type', is: 'inline' }, 'inline'),
  );

/** A rule that refuses `field` without oidcConfigRef, since it has no effect where callers are not authenticated. */
const requiresOidcConfigRef = (field: string, why: string) =>
  rule<Readonly<Record<string, unknown>>>({
    cel: `!has(self.${field}) || has(self.oidcConfigRef)`,
    holds: (spec) => spec[field] === undefined || spec['oidcConfigRef'] !== undefined,
    reason: `${field} ${why}`,
    remedy: 'set oidcConfigRef',
    field,
  });

/**
 * Rules for MCPServer and MCPRemoteProxy, which admit every caller without oidcConfigRef: a spec that asks for access
 * control must not get open access instead.
 */
export const callerRules = [
  requiresOidcConfigRef('authzConfig', 'judges who calls, which nobody knows without oidcConfigRef'),
  requiresOidcConfigRef('authServerRef', 'issues tokens, which nobody checks without oidcConfigRef'),
];

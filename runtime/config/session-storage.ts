import * as z from 'zod';
import { requiredWhen, withRules } from './rules.ts';
import { hostMaybePortSchema } from './scalars.ts';

/** Fields of `spec.sessionStorage` and of `config.sessionStorage`; the former also has `passwordRef`. */
export const sessionStorageShape = {
  provider: z.enum(['memory', 'kvstore']).describe('Where sessions are kept: in the process, or in a key-value store.'),
  address: hostMaybePortSchema.optional().describe('Address of the store as host:port; for provider kvstore.'),
  db: z.int32().min(0).default(0).describe('Number of the database.'),
  keyPrefix: z.string().max(256).optional().describe('Prefix of all keys.'),
};

/** A store needs an address. */
export const sessionStorageRules = [requiredWhen({ key: 'provider', is: 'kvstore' }, 'address')] as const;

/** docs/configuration.md "sessionStorage" */
export const sessionStorageSchema = withRules(z.strictObject(sessionStorageShape), ...sessionStorageRules).describe(
  'Session storage. The password comes from VMCP_SESSION_KVSTORE_PASSWORD.',
);

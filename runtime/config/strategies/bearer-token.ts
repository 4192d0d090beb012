import * as z from 'zod';
import { filePathSchema } from '../file-paths.ts';
import { type SecretRefSchema, defineStrategy } from './slice.ts';

const resource = (secretRef: SecretRefSchema) =>
  z
    .strictObject({ tokenSecretRef: secretRef.describe('Secret key that holds the token.') })
    .describe('Sends a bearer token that is in a Secret.');

/** A bearer token that is the same for all callers. */
export const bearerToken = defineStrategy({
  type: 'bearer_token',
  isSupported: true,
  file: z
    .strictObject({ tokenFile: filePathSchema.describe('File that holds the token.') })
    .describe('Fixed token; for type bearer_token.'),
  resource,
  toFile: ({ tokenSecretRef }, { fileOf }) => ({ tokenFile: fileOf(tokenSecretRef) }),
});

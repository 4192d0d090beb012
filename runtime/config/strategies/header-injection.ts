import * as z from 'zod';
import { filePathSchema } from '../file-paths.ts';
import { headerNameSchema, headerValueSchema } from '../header-fields.ts';
import { exactlyOne, withRules } from '../rules.ts';
import { type SecretRefSchema, defineStrategy } from './slice.ts';

const inConfig = {
  headerName: headerNameSchema.describe('Header to set.'),
  headerValue: headerValueSchema.optional().describe('Its value; exclusive with headerValueEnv.'),
  headerValueEnv: z.string().min(1).optional().describe('Environment variable that holds the value.'),
};
const inFile = { ...inConfig, headerValueFile: filePathSchema.optional().describe('File that holds the value.') };
const resource = (secretRef: SecretRefSchema) =>
  z
    .strictObject({
      headerName: z.string().min(1).describe('Name of the header.'),
      valueSecretRef: secretRef.describe('Secret key that holds the value.'),
    })
    .describe('Adds a header whose value is in a Secret.');

const meaning = 'Header with a fixed value; for type header_injection.';

/** A header whose value is the same for all callers. */
export const headerInjection = defineStrategy({
  type: 'header_injection',
  isSupported: true,
  config: withRules(z.strictObject(inConfig), exactlyOne('headerValue', 'headerValueEnv')).describe(meaning),
  file: withRules(z.strictObject(inFile), exactlyOne('headerValue', 'headerValueEnv', 'headerValueFile')).describe(
    meaning,
  ),
  resource,
  toFile: ({ headerName, valueSecretRef }, { fileOf }) => ({ headerName, headerValueFile: fileOf(valueSecretRef) }),
  literal: 'headerValue',
  headers: ['headerName'],
});

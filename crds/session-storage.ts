import * as z from 'zod';

import { sessionStorageRules, sessionStorageShape, withRules } from '../runtime/config/index.ts';
import { secretRef } from './kit.ts';

/**
 * `spec.sessionStorage` of docs/resources.md "VirtualMCPServer": the fields of the configuration plus the reference to
 * the password.
 */
export const sessionStorage = () =>
  withRules(
    z.strictObject({
      ...sessionStorageShape,
      passwordRef: secretRef().optional().describe('Secret key that holds the password.'),
    }),
    ...sessionStorageRules,
  );

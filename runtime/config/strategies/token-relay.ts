import * as z from 'zod';
import { headerNameSchema } from '../header-fields.ts';

/**
 * The token of the caller, as it was presented. Written by the operator alone, between runtimes of its own that accept
 * the same tokens: no resource says it, since a token is not to be passed on to anybody it was not made for (MCP,
 * "Access Token Privilege Restriction").
 */
export const tokenRelay = {
  type: 'token_relay',
  isSupported: true,
  file: z
    .strictObject({
      headerName: headerNameSchema.optional().describe('Header that gets the token; Authorization when left out.'),
    })
    .describe(
      "Sends the caller's own token to a runtime of the same operator, or on from there; for type token_relay.",
    ),
  headers: ['headerName'],
  isUsersToken: true,
} as const;

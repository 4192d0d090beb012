import * as z from 'zod';
import { providerNameSchema } from '../scalars.ts';
import { defineStrategy } from './slice.ts';

const block = z
  .strictObject({ providerName: providerNameSchema.describe('Upstream provider whose access token is sent.') })
  .describe('For type upstream_inject.');

/** The token that the user got when they logged in at an upstream provider. */
export const upstreamInject = defineStrategy({
  type: 'upstream_inject',
  isSupported: true,
  config: block,
  file: block,
  resource: () =>
    z
      .strictObject({
        providerName: z
          .string()
          .min(1)
          .describe('Upstream provider whose access token is sent as Authorization: Bearer.'),
      })
      .describe('Sends the token that the user got at an upstream provider.'),
  toFile: (written) => written,
  provider: 'providerName',
});

import * as z from 'zod';
import { durationOr } from './durations.ts';
import { providerNameSchema } from './scalars.ts';

/** Keys of our own for the embedded authorization server. */
export const authServerExtensionSchema = z
  .strictObject({
    refreshReuseWindow: durationOr('15s', { max: '60s' }).describe(
      'Time in which a refresh token that was replaced gets the same successor again, for clients that refresh at the same time or lose an answer; its use after that ends all refresh tokens that came of the same login. 0s: at once.',
    ),
    upstreams: z
      .record(
        providerNameSchema,
        z.strictObject({
          signIn: z
            .enum(['atLogin', 'onDemand'])
            .default('atLogin')
            .describe(
              'When users sign in at the provider: atLogin, at each login of a client; onDemand, once a call needs a token of it. The first provider, which says who the user is, is always asked.',
            ),
        }),
      )
      .default({})
      .describe('Settings of single upstream providers, by name.'),
  })
  .prefault({})
  .describe('Settings of the embedded authorization server.');

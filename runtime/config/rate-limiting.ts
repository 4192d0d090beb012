import * as z from 'zod';
import { duration } from './durations.ts';
import { keyedList } from './keyed-list.ts';

/** A store keeps a bucket for twice this time, at most a year. */
const LONGEST_PERIOD = '4320h';

/** A token bucket of docs/configuration.md "rateLimiting" */
const bucket = (meaning: string) =>
  z
    .strictObject({
      maxTokens: z.int32().min(1).describe('Capacity of the bucket, and so the size of a burst.'),
      refillPeriod: duration({ positive: true, max: LONGEST_PERIOD }).describe('Time to refill the bucket from zero.'),
    })
    .optional()
    .describe(meaning);

const toolLimitSchema = z.strictObject({
  name: z.string().min(1).max(256).describe('Advertised name of the tool.'),
  shared: bucket('Bucket of all users together.'),
  perUser: bucket('Bucket of each authenticated user.'),
});

/** docs/configuration.md "rateLimiting" */
export const rateLimitingSchema = z
  .strictObject({
    shared: bucket('Bucket of all users together, for the whole server.'),
    perUser: bucket('Bucket of each authenticated user, for the whole server.'),
    tools: keyedList(toolLimitSchema, 'name')
      .max(256)
      .optional()
      .describe('Further limits for single tools; a request must pass these and those of the server.'),
  })
  .describe('Rate limits; kept in the session store, per replica without kvstore.');

/** What limits do without the store that replicas share: docs/rate-limits.md "When the store is away" */
export const rateLimitingExtensionSchema = z
  .strictObject({
    whenStoreUnavailable: z
      .enum(['local', 'deny', 'allow'])
      .default('local')
      .describe(
        'While the session store cannot be asked: local, each replica counts by itself; deny, limited requests are refused; allow, nothing is limited.',
      ),
  })
  .describe('Rate limits beyond the common specification.');

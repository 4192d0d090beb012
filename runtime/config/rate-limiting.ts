import * as z from 'zod';
import { duration } from './durations.ts';
import { keyedList } from './keyed-list.ts';
import { notYet } from './not-yet.ts';

/** A token bucket of docs/configuration.md "rateLimiting" */
const bucket = (meaning: string) =>
  z
    .strictObject({
      maxTokens: z.int32().min(1).describe('Capacity of the bucket, and so the size of a burst.'),
      refillPeriod: duration({ positive: true }).describe('Time to refill the bucket from zero.'),
    })
    .optional()
    .describe(meaning);

const toolLimitSchema = z.strictObject({
  name: z.string().min(1).max(256).describe('Advertised name of the tool.'),
  shared: bucket('Bucket of all users together.'),
  perUser: bucket('Bucket of each authenticated user.'),
});

/** docs/configuration.md "rateLimiting" */
export const rateLimitingSchema = notYet(
  z
    .strictObject({
      shared: bucket('Bucket of all users together, for the whole server.'),
      perUser: bucket('Bucket of each authenticated user, for the whole server.'),
      tools: keyedList(toolLimitSchema, 'name')
        .max(256)
        .optional()
        .describe('Further limits for single tools; a request must pass these and those of the server.'),
    })
    .describe('Rate limits; kept in the session store, per replica without kvstore.'),
  'rate limiting',
);

import { proven } from './rule.ts';

export const ratelimit = {
  'ratelimit.requires-kvstore': proven('Distributed rate limiting requires `kvstore` session storage.'),
  'ratelimit.distributed': proven('With kvstore session storage all replicas share the buckets.'),
  'ratelimit.shared': proven('`rateLimiting.shared` is one bucket shared by all users of the server.'),
  'ratelimit.per-user': proven('`rateLimiting.perUser` gives each authenticated user an own bucket.'),
  'ratelimit.per-user.requires-auth': proven('`rateLimiting.perUser` requires authentication to be enabled.'),
  'ratelimit.tools.only-named': proven('A `rateLimiting.tools` item limits only calls of the tool it names.'),
  'ratelimit.tools.extra': proven('Per-tool limits are extra and do not replace the server-level limits.'),
  'ratelimit.tools.shared': proven('`rateLimiting.tools[].shared` is a bucket of the tool shared by all users.'),
  'ratelimit.tools.per-user': proven('`rateLimiting.tools[].perUser` gives each user an own bucket for the tool.'),
  'ratelimit.tools.per-user-requires-auth': proven('`rateLimiting.tools[].perUser` needs an authenticated user just as `rateLimiting.perUser` does.'),
  'ratelimit.bucket.capacity': proven('`maxTokens` is the capacity of the bucket: no more tokens gather, however long the pause.'),
  'ratelimit.bucket.burst': proven('`maxTokens` is the burst size: a full bucket lets that many requests through at once.'),
  'ratelimit.bucket.refill-rate': proven('Tokens return at the rate `maxTokens / refillPeriod` per second, continuously.'),
  'ratelimit.bucket.refill-period': proven('`refillPeriod` is the time in which an empty bucket refills to `maxTokens`.'),
  'ratelimit.server-bucket-empty': proven('A request is rejected when the server-level bucket that applies to it is empty.'),
  'ratelimit.tool-bucket-empty': proven('A request is rejected when the per-tool bucket that applies to it is empty.'),
  'ratelimit.both-must-pass': proven('A request must pass both the server-level and the per-tool limit.'),
};

import assert from 'node:assert/strict';
import { type Agent, request } from 'undici';
import { until } from '../../../cluster/until.ts';
import type { AuthServerGateway } from '../../../fixtures/auth-server.ts';
import type { PlainServer } from '../../../fixtures/plain-server.ts';
import { clientAt } from '../../../fixtures/signing-in.ts';

/**
 * Has strangers at the addresses of these agents name clients of sites that do not answer, eight of each, until all
 * fetches wait. The returned function checks that all of them were refused.
 */
export const holdAllFetches = async (
  gateway: AuthServerGateway,
  slow: readonly PlainServer[],
  agents: readonly Agent[],
): Promise<() => Promise<void>> => {
  for (const each of slow) each.answer(() => undefined);
  const name = (at: PlainServer, n: number) =>
    request(clientAt(gateway, { client_id: `${at.origin}/slow-${n}.json` }).authorizationUrl(), {
      dispatcher: agents[n % agents.length] ?? assert.fail(),
    });
  const naming = slow.flatMap((at) => Array.from({ length: 8 }, (_, n) => name(at, n)));
  await until('all fetches', async () => slow.every(({ requests }) => requests.length > 0) || undefined);
  return async () => {
    for (const { statusCode, body } of await Promise.all(naming)) {
      assert.equal(statusCode, 503);
      await body.dump();
    }
  };
};

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Agent, fetch } from 'undici';
import { requestBudgets } from '../../../runtime/auth-server/request-budgets.ts';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { registerClient } from '../../fixtures/signing-in.ts';

describe('requests of one address', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  const elsewhere = new Agent({ localAddress: '127.9.9.9' });
  before(async () => {
    gateway = await startAuthServer();
  });
  after(async () => {
    await gateway.stop();
    await elsewhere.close();
  });

  /**
   * Sends requests until one is refused, which it returns, and tells how many were not; without those that the budget
   * of so many a minute has got back meanwhile.
   */
  const refusedAfter = async (path: string, aMinute: number, init: Parameters<typeof fetch>[1] = {}) => {
    const from = performance.now();
    const send = () => fetch(`${gateway.issuer}${path}`, { redirect: 'manual', ...init });
    for (let admitted = 0; ; admitted += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, send));
      const refused = answers.find(({ status }) => status === 429);
      const again = Math.ceil(((performance.now() - from) / 60_000) * aMinute);
      if (refused) return { admitted: admitted + answers.indexOf(refused) - again, refused };
      await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    }
  };

  test('that begin logins are refused by a page beyond 1,200 in a minute, and those of others are not', async () => {
    const client = await registerClient(gateway);
    const path = client.authorizationUrl().href.slice(gateway.issuer.length);
    const { admitted, refused } = await refusedAfter('/oauth/accounts', 1_200);
    assert.ok(admitted >= 1_100 && admitted <= 1_250, `${admitted}`);
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]/);
    assert.match(await refused.text(), /<html/);
    // One budget for all that begins logins: a few are admitted again with the time that goes by.
    const more = await refusedAfter(path, 1_200);
    assert.ok(more.admitted < 100, `${more.admitted}`);
    const other = await fetch(`${gateway.issuer}${path}`, { redirect: 'manual', dispatcher: elsewhere });
    assert.equal(other.status, 303);
  });

  test('that register are refused beyond 600 in a minute, with a code that clients take for no mistake of theirs', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const { admitted, refused } = await refusedAfter('/oauth/register', 600, init);
    assert.ok(admitted >= 500 && admitted <= 650, `${admitted}`);
    assert.equal(refused.status, 429);
    assert.equal(((await refused.json()) as { error: string }).error, 'temporarily_unavailable');
    const other = await fetch(`${gateway.issuer}/oauth/register`, { ...init, dispatcher: elsewhere });
    assert.equal(other.status, 400);
  });

  test('at the token endpoint have 12,000 in a minute, so that a company behind one address gets its tokens', async () => {
    const clock = frozenClock();
    const budgets = requestBudgets(clock);
    for (let count = 0; count < 12_000; count += 1) assert.equal(await budgets('token', '192.0.2.1'), 0);
    assert.ok((await budgets('token', '192.0.2.1')) > 0);
    assert.equal(await budgets('token', '198.51.100.1'), 0);
    assert.equal(await budgets('authorize', '192.0.2.1'), 0);
  });
});

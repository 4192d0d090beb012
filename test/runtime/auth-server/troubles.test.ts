import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { troubles } from '../../../runtime/auth-server/troubles.ts';
import type { StatusReport } from '../../../runtime/status/index.ts';
import { until } from '../../cluster/until.ts';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { memoryLog } from '../../fixtures/memory-log.ts';

const stateOf = async ({ running }: AuthServerGateway): Promise<StatusReport['authServer']> =>
  ((await (await fetch(`${running().managementUrl}/status`)).json()) as StatusReport).authServer;

const CANNOT = 'the authorization server cannot use its keys, and answers with 503 until it can';

test(
  'keys that cannot be used are told once by the log, and by /status, until they can',
  { skip: noCertificates },
  async (t) => {
    const gateway = await startAuthServer();
    t.after(gateway.stop);
    const [secret, key] = ['s'.repeat(48), 'no key: of nobody'];
    const files = {
      hmacFiles: [await gateway.write('hmac', secret)],
      signingKeyFiles: [await gateway.write('pem', key)],
    };
    await gateway.restart({ authServer: files });
    const reason = 'signing key 1 is no private key in PEM without a passphrase';
    // Nobody has asked for anything yet.
    await until('the report', async () => ((await stateOf(gateway))?.state === 'keys-unusable' ? true : undefined));
    assert.equal((await stateOf(gateway))?.reason, reason);
    const told = () => gateway.lines.filter(({ message }) => message === CANNOT).map(({ fields }) => fields);
    assert.deepEqual(told(), [{ needed: 'signing keys', reason }]);

    await rm(files.hmacFiles[0] ?? '');
    gateway.later(3_000);
    const refused = await fetch(`${gateway.issuer}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://client.example/'] }),
    });
    assert.equal(refused.status, 503);
    assert.equal((await stateOf(gateway))?.reason, `${reason}; the current HMAC secret is missing`);

    await gateway.write('hmac', secret);
    await gateway.restart({ authServer: { signingKeyFiles: [] } });
    assert.equal((await stateOf(gateway))?.state, 'up');
    assert.equal(told().length, 2);
    assert.ok(!JSON.stringify(gateway.lines).includes(key));
  },
);

test('a store that is away is told with its own word; keys that cannot be used come first, and both end', () => {
  const { log, lines } = memoryLog();
  const clock = frozenClock();
  let tellState: (state: 'up' | 'down', reason: string) => void = assert.fail;
  const store = {
    state: () => 'up' as const,
    onState: (listener: typeof tellState) => {
      tellState = listener;
      return () => {};
    },
  };
  const { tell, report } = troubles({ clock, log, store });
  const { state, reason } = report();
  assert.deepEqual([state, reason], ['up', undefined]);
  tellState('down', 'ECONNREFUSED');
  assert.deepEqual([report().state, report().reason], ['store-away', 'ECONNREFUSED']);
  for (const again of ['first', 'second']) {
    tell('HMAC secrets', 'the current HMAC secret is missing');
    assert.deepEqual([again, report().state], [again, 'keys-unusable']);
  }
  tell('HMAC secrets', undefined);
  tell('HMAC secrets', undefined);
  assert.equal(report().state, 'store-away');
  tellState('up', 'PONG');
  assert.equal(report().state, 'up');
  assert.equal(lines.length, 2);
});

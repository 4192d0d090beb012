import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { explained, refusals, stepOf } from '../../../fixtures/explained.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { startLadder } from './gateway.ts';

test(
  'explain says that a user needs to sign in, and where, before the first time and again',
  { skip: noCertificates },
  async (t) => {
    const gateway = await startLadder();
    t.after(gateway.stop);
    const browser = gateway.browser();
    const headers = await gateway.signedIn(browser);
    const token = headers.authorization.slice('Bearer '.length);
    const explain = () => explained(gateway.running(), { token, kind: 'tool', name: 'g_echo' });
    const press = async (value: string) =>
      browser.press(await browser.open(`${gateway.issuer}/oauth/accounts`), value, {
        button: 'do',
        provider: 'github',
      });

    const before = await explain();
    assert.deepEqual(refusals(before), ['filter']);
    assert.match(stepOf(before, 'filter').reason, /needs a sign-in at "github"/);

    await browser.press(await press('sign-in'), 'sign-in', { button: 'do' });
    await sendModern(gateway.running().url, { name: 'g_echo', args: {}, headers });
    assert.deepEqual(refusals(await explain()), []);

    await press('disconnect');
    const after = await explain();
    assert.equal(after.allowed, false);
    const { reason, code } = stepOf(after, 'outgoing');
    assert.match(reason, /needs to sign in at "github"/);
    assert.equal(code, 'login_required');
  },
);

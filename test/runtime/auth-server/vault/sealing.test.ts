import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { sealing } from '../../../../runtime/auth-server/vault/sealing.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { hasCode } from '../../store/has-code.ts';

const secret = (letter: string): Buffer => Buffer.alloc(32, letter);
const clock = frozenClock();
const parts = { boundTo: () => 'https://as.example', clock, entropy: randomBytes };
const under = (...letters: readonly string[]) => sealing({ ...parts, secrets: async () => letters.map(secret) });
/** By then a secret would have reached all replicas. */
const spread = (): void => clock.advance(4 * 60_000);

const VALUE = Buffer.from('a secret value');
const PLACE = ['corp|alice', 'corp'];

describe('a sealed value', () => {
  test('is opened under the same secret, at the same place', async () => {
    const sealed = await under('a').seal(VALUE, PLACE);
    assert.deepEqual(await under('a').open(sealed, PLACE), { value: VALUE, isCurrent: true });
    assert.ok(!sealed.includes('secret'));
  });

  test('is another one each time', async () => {
    const { seal } = under('a');
    assert.notDeepEqual(await seal(VALUE, PLACE), await seal(VALUE, PLACE));
  });

  test('is opened at no other place: of another user or provider', async () => {
    const { seal, open } = under('a');
    const sealed = await seal(VALUE, PLACE);
    for (const place of [['corp|bob', 'corp'], ['corp|alice', 'other'], ['corp|alicecorp'], ['corp', '|alicecorp'], []])
      assert.equal(await open(sealed, place), undefined, place.join());
  });

  test('is opened under an earlier secret, and says so', async () => {
    const sealed = await under('a').seal(VALUE, PLACE);
    assert.deepEqual(await under('b', 'a').open(sealed, PLACE), { value: VALUE, isCurrent: false });
    await assert.rejects(under('b').open(sealed, PLACE), hasCode('issuer_unavailable'));
    spread();
    assert.equal(await under('b').open(sealed, PLACE), undefined);
    const again = await under('b', 'a').seal(VALUE, PLACE);
    assert.deepEqual(await under('b').open(again, PLACE), { value: VALUE, isCurrent: true });
  });

  test('follows secrets that change while the process runs', async () => {
    let letters = ['a'];
    const { seal, open } = sealing({ ...parts, secrets: async () => letters.map(secret) });
    const sealed = await seal(VALUE, PLACE);
    letters = ['b', 'a'];
    assert.equal((await open(sealed, PLACE))?.isCurrent, false);
    letters = ['b'];
    spread();
    assert.equal(await open(sealed, PLACE), undefined);
    letters = [];
    await assert.rejects(seal(VALUE, PLACE));
  });

  test('is nothing when any of its bytes was changed, cut or added', async () => {
    const { seal, open } = under('a');
    const sealed = await seal(VALUE, PLACE);
    spread();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      // The highest bit: of the time, it leads far away.
      changed[at] = (changed[at] ?? 0) ^ 128;
      assert.equal(await open(changed, PLACE), undefined, `byte ${at}`);
      assert.equal(await open(sealed.subarray(0, at), PLACE), undefined, `${at} bytes`);
    }
    assert.equal(await open(Buffer.concat([sealed, Buffer.of(0)]), PLACE), undefined);
  });
});

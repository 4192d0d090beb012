import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SharedBySettings } from '../../../../runtime/gate/authenticate/shared-by-settings.ts';

interface Settings {
  readonly issuer: string;
  readonly jwksUrl: string | undefined;
}

const make = () => {
  const closed: string[] = [];
  const shared = new SharedBySettings(
    ({ issuer }: Settings) => {
      if (issuer === '') throw new Error('no issuer');
      return { issuer };
    },
    async ({ issuer }) => void closed.push(issuer),
  );
  return { shared, closed };
};

const settings = (issuer: string, jwksUrl?: string): Settings => ({ issuer, jwksUrl });

describe('values that are made of settings', () => {
  test('are shared by equal settings, and closed when the last one has given them back', async () => {
    const { shared, closed } = make();
    const [one, two] = [shared.take(settings('a')), shared.take(settings('a'))];
    assert.equal(one.value, two.value);
    await one.release();
    assert.deepEqual(closed, []);
    await two.release();
    assert.deepEqual(closed, ['a']);
    assert.notEqual(shared.take(settings('a')).value, one.value);
  });

  test('are apart for other settings', () => {
    const { shared } = make();
    assert.notEqual(shared.take(settings('a')).value, shared.take(settings('a', 'https://a.example')).value);
  });

  test('that cannot be made are not kept', () => {
    const { shared } = make();
    for (let each = 0; each < 2; each += 1) assert.throws(() => shared.take(settings('')), /no issuer/);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OfferedBackend } from '../../../runtime/catalog/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { offerOf, up } from './live-catalog-under-test.ts';

describe('the name of a tool whose backend was never reached', () => {
  const unreached: readonly OfferedBackend[] = [up('a', { tools: ['t'] }), { name: 'b', status: 'unavailable' }];

  test('is found once a further check has listed the backend', async () => {
    const checked: string[] = [];
    const { find, change } = offerOf(unreached, {
      checkUnlisted: async (names) => {
        checked.push(...names);
        change([up('a', { tools: ['t'] }), up('b', { tools: ['t'] })]);
      },
    });
    assert.equal(await find('b_t'), 'b');
    assert.deepEqual(checked, ['b']);
  });

  for (const [what, name, code] of [
    ['can be tried again later while it is still down', 'b_t', 'backend_unavailable'],
    ['does not make unknown names of others less unknown', 'a_u', 'unknown_name'],
    ['nor those of none', 'c', 'unknown_name'],
  ] as const)
    test(what, async () => {
      await assert.rejects(
        async () => offerOf(unreached).find(name),
        (error) => error instanceof VmcpError && error.code === code,
      );
    });

  test('is refused by policies as any other', async () => {
    await assert.rejects(
      async () => offerOf(unreached, { policies: () => ({}) }).find('b_t'),
      (error) => error instanceof VmcpError && error.code === 'forbidden',
    );
  });
});

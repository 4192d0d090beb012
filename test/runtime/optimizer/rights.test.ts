import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { foundIn, namesOf, toolText } from '../../fixtures/optimized.ts';
import { as, filesWithPolicies, policyFeatures } from '../../fixtures/policies.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { startRuntime } from '../../fixtures/runtime.ts';

const POLICIES = [
  'permit(principal, action == Action::"call_tool", resource in Backend::"open");',
  'permit(principal, action == Action::"call_tool", resource in Backend::"vault") when { context.claim_role == "keeper" };',
  'forbid(principal, action == Action::"call_tool", resource == Tool::"open_paint_fence") when { context has arg_color && context.arg_color == "red" };',
];

const OPEN_TOOLS = [toolText('paint_fence', 'Paints a fence'), toolText('mow_lawn', 'Cuts the grass of a garden')];
const VAULT_TOOLS = [
  toolText('launch_rocket', 'Launches a rocket from the garden'),
  toolText('launch_list', 'Lists what was launched'),
];

/** What alice must not learn. */
const HIDDEN = /launch|rocket|vault/i;

describe('with policies', () => {
  let backends: Readonly<Record<'open' | 'vault', FixtureBackend>>;
  let running: Running;
  let alice: RawSession;
  let keeper: RawSession;

  const filesOf = ({ open, vault }: typeof backends) =>
    filesWithPolicies({ open: open.url, vault: vault.url }, { type: 'cedar', policies: POLICIES }, { optimizer: {} });
  const enter = (subject: string, claims: object = {}): Promise<RawSession> =>
    openSession(running.url, {}, as(subject, claims));
  before(async () => {
    backends = { open: await startBackend({ tools: OPEN_TOOLS }), vault: await startBackend({ tools: VAULT_TOOLS }) };
    running = await startRuntime(filesOf(backends), {}, { features: policyFeatures() });
    alice = await enter('alice', { role: 'guest' });
    keeper = await enter('kim', { role: 'keeper' });
    await Promise.all([alice.toolNames(), keeper.toolNames()]);
  });
  after(async () => {
    await running.stop();
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
  });

  const find = async (session: RawSession, words: string, more: object = {}) =>
    foundIn(await session.call('find_tool', { tool_description: words, ...more }));

  test('both callers have the two tools, of which no policy speaks', async () => {
    for (const session of [alice, keeper]) assert.deepEqual(await session.toolNames(), ['call_tool', 'find_tool']);
  });

  test('two callers find different tools by the same words', async () => {
    assert.deepEqual(namesOf(await find(alice, 'garden')), ['open_mow_lawn']);
    assert.deepEqual(namesOf(await find(keeper, 'garden')).toSorted(), ['open_mow_lawn', 'vault_launch_rocket']);
  });

  test('neither the list, nor what is nearest, nor a server that is named tells of what is hidden', async () => {
    const list = await alice.request('tools/list');
    assert.match(list.text, /- open \(2\)/);
    for (const answer of [
      list,
      await alice.call('find_tool', { tool_description: 'zzz' }),
      await alice.call('find_tool', { tool_description: 'lunch rockets' }),
      await alice.call('find_tool', { tool_description: 'list', server: 'vault' }),
      await alice.call('call_tool', { tool_name: 'nonsense' }),
    ])
      assert.doesNotMatch(answer.text, HIDDEN);
    assert.match((await keeper.request('tools/list')).text, /- vault \(2\): vault_launch_list, vault_launch_rocket/);
  });

  test('an answer about what alice may find is the same, byte for byte, where there is nothing that she may not', async (t) => {
    const without = { ...backends, vault: await startBackend({ tools: [] }) };
    const other = await startRuntime(filesOf(without), {}, { features: policyFeatures() });
    t.after(async () => {
      await other.stop();
      await without.vault.close();
    });
    const elsewhere = await openSession(other.url, {}, as('alice', { role: 'guest' }));
    await elsewhere.toolNames();
    for (const words of ['garden', 'paint the garden grass', 'launch', 'a rocket for the lawn', 'lanch roket fense']) {
      const args = { tool_description: words };
      const [here, there] = [await alice.call('find_tool', args), await elsewhere.call('find_tool', args)];
      assert.deepEqual(resultOf(here), resultOf(there), words);
    }
  });

  test('a hidden name and one that does not exist are refused alike', async () => {
    const refusal = async (name: string) => {
      const answer = await alice.call('call_tool', { tool_name: name, parameters: {} });
      assert.equal(resultOf(answer)['isError'], true);
      return JSON.stringify(resultOf(answer)).replaceAll(name, 'NAME');
    };
    assert.equal(await refusal('vault_launch_list'), await refusal('vault_launch_lost'));
    assert.match(resultText(await keeper.call('call_tool', { tool_name: 'vault_launch_list' })), /^launch_list/);
  });

  test('a policy about arguments refuses through call_tool as it does directly', async () => {
    const red = { color: 'red' };
    const inner = errorOf(await alice.call('call_tool', { tool_name: 'open_paint_fence', parameters: red }));
    const direct = errorOf(await alice.call('open_paint_fence', red));
    assert.deepEqual([inner.code, inner.data.reason], [direct.code, direct.data.reason]);
    assert.equal(inner.data.reason, 'forbidden');
    const blue = { tool_name: 'open_paint_fence', parameters: { color: 'blue' } };
    assert.equal(resultText(await alice.call('call_tool', blue)), 'paint_fence {"color":"blue"}');
  });

  test('a user with no right at all finds nothing and is told of nothing', async () => {
    const nobody = await startRuntime(
      filesWithPolicies(
        { open: backends.open.url },
        { type: 'cedar', policies: [POLICIES[1] ?? ''] },
        { optimizer: {} },
      ),
      {},
      { features: policyFeatures() },
    );
    const session = await openSession(nobody.url, {}, as('mallory', { role: 'guest' }));
    const list = await session.request('tools/list');
    const found = await session.call('find_tool', { tool_description: 'paint' });
    await nobody.stop();
    assert.doesNotMatch(list.text, /Servers|- open|paint_fence/);
    assert.deepEqual(foundIn(found).tools, []);
    assert.deepEqual(foundIn(found).nearest, { names: [], servers: [] });
  });
});

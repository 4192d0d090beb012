import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { Origin } from '../../../runtime/call/call.ts';
import type { Target } from '../../../runtime/call/target.ts';
import type { OfferedBackend } from '../../../runtime/catalog/index.ts';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import type { OwnTool } from '../../../runtime/catalog/own-tool.ts';
import { visibleLists } from '../../../runtime/catalog/visible.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import type { ListKind } from '../../../runtime/mcp/lists.ts';
import { taskIdOf } from '../../../runtime/call/task-id.ts';
import { ANYBODY, offerOf, up, user } from './live-catalog-under-test.ts';
import { atBackend, settings } from './sources.ts';

describe('that lists have changed', () => {
  const a = up('a', { tools: ['t'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] });

  for (const [fact, newer, expected] of [
    [
      'is not told when nothing has',
      [up('a', { tools: ['t'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] })],
      [],
    ],
    [
      'is told of the list that has',
      [up('a', { tools: ['t', 'u'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] })],
      [['tools']],
    ],
    [
      'is told when only a description has',
      [
        up('a', {
          tools: ['{"name":"t","description":"d"}'],
          prompts: ['p'],
          resources: ['x:1'],
          resourceTemplates: ['x:{y}'],
        }),
      ],
      [['tools']],
    ],
    [
      'is told of all when a backend is down',
      [{ ...a, status: 'unavailable' }],
      [['tools', 'prompts', 'resources', 'resourceTemplates']],
    ],
    ['is not told when a backend is only degraded', [{ ...a, status: 'degraded' }], []],
    ['is told of what a newcomer adds', [a, up('b', { prompts: ['p'] })], [['prompts']]],
    ['is not told of a newcomer whose entries lose', [a, up('b', { resources: ['x:1'] })], []],
  ] as const) {
    test(fact, () => {
      const { change, heard } = offerOf([a]);
      change(newer);
      assert.deepEqual(heard, expected);
    });
  }

  test('notifies listeners after a change of settings, until they unsubscribe', () => {
    const { offer, change, heard } = offerOf([a]);
    change([a], { excludeAllTools: true });
    assert.deepEqual(heard, [['tools']]);
    const more: (readonly ListKind[])[] = [];
    const stop = offer.onListsChanged((kinds) => more.push(kinds));
    stop();
    change([a], { excludeAllTools: false });
    assert.deepEqual([heard.length, more.length], [2, 0]);
  });

  test('pages that read the same are the same bytes', async () => {
    const { offer, change } = offerOf([a]);
    const before = await offer.list('prompts', undefined, ANYBODY);
    change([up('a', { tools: ['t', 'u'], prompts: ['p'] })]);
    assert.equal(await offer.list('prompts', undefined, ANYBODY), before);
  });
});

describe('a list', () => {
  test('waits for backends at start, and for none later', async () => {
    const { change, names, waits } = offerOf([up('a', { tools: ['t'] })]);
    await names();
    change([up('a', { tools: ['t'] }), { name: 'slow', status: 'unknown' }]);
    assert.deepEqual(await names(), ['a_t']);
    assert.deepEqual(waits, [10]);
  });

  test('under fail waits for a newcomer, without which it would be refused', async () => {
    const { change, names, waits } = offerOf([up('a', { tools: ['t'] })], {}, { partialFailureMode: 'fail' });
    await names();
    change([up('a', { tools: ['t'] }), { name: 'slow', status: 'unknown' }]);
    await assert.rejects(names(), /no answer from "slow"/);
    assert.deepEqual(waits, [10, 10]);
  });
});

describe('a name that no backend has', () => {
  const gone: OfferedBackend = { name: 'gone', status: 'unavailable', isWithheld: true };
  const refusal = (code: string) => (error: unknown) => error instanceof VmcpError && error.code === code;

  test('is unknown; one of a withheld backend is not served, where the name tells', async () => {
    const { offer, find } = offerOf([up('a', { tools: ['t'] }), gone]);
    await assert.rejects(find('x'), refusal('unknown_name'));
    await assert.rejects(find('gone_x'), refusal('backend_unavailable'));
    const lookUp = async (names: 'prompt' | 'resource', name: string) =>
      offer.lookUp({ names, name, caller: ANYBODY, origin: 'client' });
    await assert.rejects(lookUp('prompt', 'gone_x'), refusal('backend_unavailable'));
    await assert.rejects(lookUp('resource', 'gone_x'), refusal('unknown_name'));
  });

  test('and one that is hidden are refused alike', async () => {
    const { find } = offerOf([up('a', { tools: ['t'] })], {}, { excludeAllTools: true });
    const message = async (name: string) => find(name).catch((error: unknown) => String(error));
    assert.equal(await message('a_t'), await message('a_x'));
  });
});

describe('what a class of callers may see', () => {
  let questions = 0;
  const visible = (caller: Caller) =>
    caller.kind === 'user'
      ? {
          key: caller.subject,
          isVisible: ({ name, target }: { name: string; target: Target }) => {
            questions += 1;
            return atBackend(target)?.backend === 'a' && name.endsWith(caller.subject);
          },
        }
      : undefined;

  test('is listed for it, and made once for each state of the lists', async () => {
    const { offer, names, change } = offerOf(
      [up('a', { tools: ['tx', 'ty'], prompts: ['px'] }), up('b', { tools: ['tx'] })],
      {
        visible,
      },
    );
    assert.deepEqual(await names(user('x')), ['a_tx']);
    assert.deepEqual(await names(user('x'), 'prompts'), ['a_px']);
    assert.deepEqual(await names(user('y')), ['a_ty']);
    assert.deepEqual(await names(), ['a_tx', 'a_ty', 'b_tx']);
    const before = questions;
    const list = () => offer.list('tools', undefined, user('x'));
    assert.equal(await list(), await list());
    assert.equal(questions, before);
    change([up('a', { tools: ['ux'] })]);
    assert.deepEqual(await names(user('x')), ['a_ux']);
  });

  test('is kept as far as the bytes of all allow', () => {
    const { all } = offerOf([up('a', { tools: ['t'] })]).offer.catalog();
    // {"name":"a_t"} has 14 bytes.
    const visible = visibleLists({ count: 10, bytes: 30 });
    const seenBy = (key: string) => visible(all, { key, isVisible: () => true });
    const [first, second, third] = ['1', '2', '3'].map(seenBy);
    assert.deepEqual([seenBy('3') === third, seenBy('2') === second, seenBy('1') === first], [true, true, false]);
  });

  test('is decided by the backend that has a name now, for lists as for calls', async () => {
    const ofB = () => ({
      key: 'of b',
      isVisible: ({ target }: { target: Target }) => atBackend(target)?.backend === 'b',
    });
    const { naming } = settings({ conflictResolution: 'priority', priorityOrder: ['a', 'b'] });
    const [a, b] = [up('a', { tools: ['t'] }), up('b', { tools: ['t'] })] as const;
    const { names, find, change } = offerOf([a, b], { visible: ofB }, { naming });
    assert.deepEqual(await names(), []);
    await assert.rejects(find('t'), /unknown tool/);
    change([b]);
    assert.equal(await find('t'), 'b');
    assert.deepEqual(await names(), ['t']);
  });
});

describe('a hidden tool', () => {
  const settingsOf = () => settings({ tools: { a: { filter: ['shown'] } } });
  const lookUp = ({ offer }: ReturnType<typeof offerOf>, name: string, origin: Origin) =>
    Promise.resolve(offer.lookUp({ names: 'tool', name, caller: ANYBODY, origin })).then(
      (target) => atBackend(target)?.backend,
      (error: unknown) => error instanceof VmcpError && error.code,
    );

  test('is for steps of workflows, whatever their caller sees, and for nothing else', async () => {
    const visible = () => ({ key: 'nothing', isVisible: () => false });
    for (const more of [{}, { visible }]) {
      const scene = offerOf([up('a', { tools: ['shown', 'hidden'] })], more, settingsOf());
      assert.equal(await lookUp(scene, 'a_hidden', 'workflow'), 'a');
      for (const origin of ['client', 'optimizer'] as const)
        assert.equal(await lookUp(scene, 'a_hidden', origin), 'unknown_name', origin);
    }
  });
});

describe('the bytes of an entry', () => {
  const a = up('a', { tools: ['t'] });

  test('bear the name that it is called by after a change of the rule for names', async () => {
    const { names, find, change } = offerOf([a]);
    assert.deepEqual(await names(), ['a_t']);
    change([a], settings({ prefixFormat: '{workload}.' }));
    assert.deepEqual(await names(), ['a.t']);
    assert.equal(await find('a.t'), 'a');
  });

  test('are as the override of now wants them', async () => {
    const overriding = (description: string) => settings({ tools: { a: { overrides: { t: { description } } } } });
    const { offer, change } = offerOf([a], {}, overriding('first'));
    const text = async () => (await offer.list('tools', undefined, ANYBODY)).toString();
    assert.match(await text(), /first/);
    change([a], overriding('second'));
    assert.match(await text(), /second/);
    change([a], settings());
    assert.doesNotMatch(await text(), /description/);
  });
});

describe('policies', () => {
  test('make unknown names look like denied ones, and tell of all lists when they change', async () => {
    const gate: { policies?: object } = {};
    const { find, change, heard } = offerOf([up('a', { tools: ['t'] })], { policies: () => gate.policies });
    const code = (name: string) =>
      find(name).then(String, (error: unknown) => error instanceof VmcpError && error.code);
    assert.equal(await code('x'), 'unknown_name');
    gate.policies = {};
    change([up('a', { tools: ['t'] })]);
    assert.deepEqual(heard, [['tools', 'prompts', 'resources', 'resourceTemplates']]);
    assert.deepEqual([await code('x'), await code('a_t')], ['forbidden', 'a']);
    change([up('a', { tools: ['t'] })]);
    assert.equal(heard.length, 1);
  });
});

test('a caller who is offered nothing for want of a sign-in is told so, also beside tools that find others', async () => {
  const error = new VmcpError('login_required', 'sign in');
  const finder: OwnTool = {
    name: 'find_tool',
    bytes: Buffer.from('{"name":"find_tool"}'),
    target: { kind: 'builtin', tool: 'find_tool' },
    isAlone: true,
  };
  const own: Overlay = [{ name: 'b', status: 'unauthenticated', error }];
  const { names } = offerOf([], { overlay: () => own, ownTools: () => [finder] });
  await assert.rejects(names(user('alice')), error);
  const { names: others } = offerOf([up('a', { tools: ['t'] })], { overlay: () => own, ownTools: () => [finder] });
  assert.deepEqual(await others(user('alice')), ['find_tool']);
});

describe('the id of a task', () => {
  const up1 = up('a', {});
  const lookUp = ({ offer }: ReturnType<typeof offerOf>, backend: string) =>
    offer.lookUp({ names: 'task', name: taskIdOf({ backend, ownId: '"1"' }) ?? '', caller: ANYBODY, origin: 'client' });

  test('leads to the backend that it names, under its own id', async () => {
    const target = atBackend(await lookUp(offerOf([up1, up('b', {})]), 'b'));
    assert.deepEqual([target?.backend, JSON.parse(target?.ownName.toString() ?? '')], ['b', '"1"']);
  });

  test('of a backend that has not been checked yet waits for it', async () => {
    const scene = offerOf([{ name: 'a', status: 'unknown' }]);
    await lookUp(scene, 'a');
    assert.deepEqual(scene.waits, [10]);
  });

  for (const [what, name, code] of [
    ['that is not served', 'c', 'unknown_name'],
    ['that is withheld', 'held', 'backend_unavailable'],
  ] as const)
    test(`of a backend ${what} is refused`, async () => {
      const scene = offerOf([up1, { name: 'held', status: 'unavailable', isWithheld: true }]);
      await assert.rejects(
        async () => lookUp(scene, name),
        (error) => error instanceof VmcpError && error.code === code,
      );
    });
});

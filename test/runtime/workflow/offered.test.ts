import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { as, filesWithPolicies, policyFeatures } from '../../fixtures/policies.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { covers } from '../../requirements.ts';

const tool = (name: string, annotations?: object): string =>
  JSON.stringify({ name, inputSchema: { type: 'object' }, ...(annotations && { annotations }) });

const READ_ONLY = { readOnlyHint: true, openWorldHint: false };

const steps = (...tools: readonly string[]): readonly object[] =>
  tools.map((each, index) => ({ id: `s${index}`, tool: each, arguments: { of: each } }));

const PARAMETERS = {
  type: 'object',
  properties: { n: { type: 'integer', description: 'how many' } },
  required: ['n'],
};

describe('a composite tool', () => {
  let backends: Readonly<Record<'a' | 'b', FixtureBackend>>;
  let running: Running;
  let session: RawSession;

  const startWith = async (more: object): Promise<void> => {
    const files = configFile({ a: backends.a.url, b: backends.b.url }, more);
    running = await startRuntime(files);
    session = await openSession(running.url);
  };
  const listed = async (): Promise<readonly Record<string, unknown>[]> =>
    resultOf(await session.request('tools/list'))['tools'] as readonly Record<string, unknown>[];

  beforeEach(async () => {
    const safe = { ...READ_ONLY, destructiveHint: false };
    backends = {
      a: await startBackend({ tools: [tool('read', READ_ONLY), tool('look', READ_ONLY), tool('add', safe)] }),
      b: await startBackend({ tools: [tool('write'), tool('add', { destructiveHint: false })] }),
    };
  });
  afterEach(async () => {
    await running.stop();
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
  });

  test('is listed like any other tool, by its name, with its description and the schemas of its parameters and output', async () => {
    covers(
      'workflow.name.advertised',
      'workflow.description',
      'workflow.parameters.input-schema',
      'workflow.output.description',
      'endpoints.mcp.composite-tools-advertised',
    );
    const output = {
      properties: {
        n: { type: 'integer', description: 'the number', value: '{{.params.n}}' },
        o: { type: 'object', value: '{}', properties: { s: { type: 'string', value: 'x' } } },
      },
      required: ['n'],
    };
    const workflow = { name: 'count', description: 'Counts things.', parameters: PARAMETERS, output };
    await startWith({ compositeTools: [{ ...workflow, steps: steps('a.read', 'b.write') }] });
    assert.deepEqual(await session.toolNames(), ['a_add', 'a_look', 'a_read', 'b_add', 'b_write', 'count']);
    assert.deepEqual(
      (await listed()).find(({ name }) => name === 'count'),
      {
        name: 'count',
        description: 'Counts things.',
        inputSchema: PARAMETERS,
        outputSchema: {
          type: 'object',
          properties: {
            n: { type: 'integer', description: 'the number' },
            o: { type: 'object', properties: { s: { type: 'string' } } },
          },
          required: ['n'],
        },
        annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      },
    );
    assert.deepEqual(resultOf(await session.call('count', { n: 2 }))['structuredContent'], { n: 2, o: { s: 'x' } });
  });

  test('is as harmless as the least harmless of its tools', async () => {
    const compositeTools = [
      { name: 'reading', steps: steps('a.read', 'a.look') },
      { name: 'adding', steps: steps('a.read', 'b.add') },
      { name: 'writing', steps: steps('a.read', 'b.write') },
    ];
    await startWith({ compositeTools });
    const annotations = new Map((await listed()).map((each) => [each['name'], each['annotations']]));
    assert.deepEqual(annotations.get('reading'), { ...READ_ONLY, destructiveHint: false });
    assert.deepEqual(annotations.get('adding'), { readOnlyHint: false, destructiveHint: false, openWorldHint: true });
    assert.deepEqual(annotations.get('writing'), { readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  });

  test('may use tools that are hidden from clients, each way, under its own and its overridden name', async () => {
    covers(
      'aggregation.exclude-all-tools.still-routable',
      'aggregation.exclude-all-tools.composites-listed',
      'aggregation.exclude-all.still-routable',
      'aggregation.filter.hidden-still-routable',
    );
    const compositeTools = [{ name: 'both', steps: steps('a.read', 'b.write') }];
    const overrides = { write: { name: 'put' } };
    for (const aggregation of [
      { excludeAllTools: true },
      {
        tools: [
          { workload: 'a', excludeAll: true },
          { workload: 'b', filter: ['none'] },
        ],
      },
      {
        tools: [
          { workload: 'a', filter: ['look'] },
          { workload: 'b', excludeAll: true, overrides },
        ],
      },
    ]) {
      await startWith({ aggregation, compositeTools });
      assert.ok((await session.toolNames()).includes('both'));
      assert.equal(errorOf(await session.call('a_read')).data.reason, 'unknown_name');
      assert.equal(resultText(await session.call('both')), 'write {"of":"b.write"}');
      await running.stop();
    }
    await startWith({
      aggregation: { tools: [{ workload: 'b', excludeAll: true, overrides }] },
      compositeTools: [{ name: 'renamed', steps: steps('b.put') }],
    });
    assert.equal(resultText(await session.call('renamed')), 'write {"of":"b.put"}');
  });

  test('of which a tool is missing is dropped alone, and so is one whose name a tool has', async () => {
    const compositeTools = [
      { name: 'whole', steps: steps('a.read') },
      { name: 'broken', steps: steps('a.read', 'a.none', 'c.read') },
      { name: 'a_read', steps: steps('a.read') },
    ];
    await startWith({ compositeTools });
    assert.deepEqual(await session.toolNames(), ['a_add', 'a_look', 'a_read', 'b_add', 'b_write', 'whole']);
    const { incomplete, collisions } = running.status();
    assert.deepEqual(incomplete, [{ name: 'broken', missing: ['a.none', 'c.read'] }]);
    assert.deepEqual(collisions, [{ kind: 'tools', name: 'a_read', keptBy: 'a', lostBy: 'workflow' }]);
    assert.equal(resultText(await session.call('a_read', { x: 1 })), 'read {"x":1}');
    assert.equal(errorOf(await session.call('broken')).data.reason, 'unknown_name');
  });

  test('whose arguments its tools do not take is offered, and said to be so, as far as that is known before a run', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer' }, unit: { enum: ['kg', 'g'] }, of: { type: ['string', 'null'] }, any: {} },
      required: ['n', 'of'],
      additionalProperties: false,
    };
    const strict = JSON.stringify({ name: 'strict', inputSchema: schema });
    backends.a.set({ tools: [strict, tool('open')] });
    const [n, of] = ['{{.params.n}}', null];
    const calls: readonly (readonly [string, object])[] = [
      ['fits', { n: 1, of, unit: 'g', any: [{}] }],
      ['late', { n, of, unit: '{{.params.unit}}' }],
      ['text', { n: '7', of }],
      ['half', { n: 1.5, of }],
      ['word', { n, of, unit: 't' }],
      ['misspelt', { n, off: 'x' }],
    ];
    const compositeTools = [
      ...calls.map(([name, args]) => ({ name, steps: [{ id: 's', tool: 'a.strict', arguments: args }] })),
      {
        name: 'loop',
        steps: [
          { id: 's', type: 'forEach', collection: '[1]', step: { tool: 'a.strict', arguments: { n: true, of } } },
        ],
      },
      { name: 'open', steps: [{ id: 's', tool: 'a.open', arguments: { x: 1 } }] },
    ];
    await startWith({ compositeTools });
    assert.equal((await session.toolNames()).filter((name) => !/^[ab]_/.test(name)).length, compositeTools.length);
    const wants = 'step "s": a.strict wants';
    assert.deepEqual(running.status().mismatched, [
      { name: 'text', problems: [`${wants} an argument "n" of type integer`] },
      { name: 'half', problems: [`${wants} an argument "n" of type integer`] },
      { name: 'word', problems: [`${wants} as argument "unit" one of "kg", "g"`] },
      {
        name: 'misspelt',
        problems: ['step "s": a.strict takes no argument "off"', `${wants} an argument "of"`],
      },
      { name: 'loop', problems: [`${wants} an argument "n" of type integer`] },
    ]);
  });

  test('comes and goes with its tools, and with the configuration', async () => {
    const files = (compositeTools: readonly object[]) =>
      configFile({ a: backends.a.url, b: backends.b.url }, { compositeTools });
    running = await startRuntime(files([{ name: 'one', steps: steps('a.read') }]));
    session = await openSession(running.url);
    assert.ok((await session.toolNames()).includes('one'));
    assert.deepEqual(running.reload(files([{ name: 'two', steps: steps('a.read') }])), { ok: true });
    const names = await session.toolNames();
    assert.ok(names.includes('two') && !names.includes('one'));
    assert.equal(errorOf(await session.call('one')).data.reason, 'unknown_name');
  });

  test('whose definition cannot be run is refused with the configuration, which stays as it was', async () => {
    const files = (...workflow: readonly object[]) =>
      configFile({ a: backends.a.url }, { compositeTools: workflow.map((each) => ({ name: 'w', ...each })) });
    running = await startRuntime(files());
    for (const workflow of [
      { steps: [{ id: 'x', tool: 'a.read', arguments: { v: '{{.params.' } }] },
      { steps: [{ id: 'x', tool: 'a.read', condition: '{{.steps.x.status}}' }] },
      { steps: steps('a.read'), parameters: { properties: { n: { type: 'no type' } } } },
    ]) {
      const result = running.reload(files(workflow));
      assert.ok(!result.ok);
      assert.match(result.problems.join(), /compositeTools\[0\]/);
    }
    assert.deepEqual(await (await openSession(running.url)).toolNames(), ['a_add', 'a_look', 'a_read']);
  });
});

describe('who sees a composite tool', () => {
  let backend: FixtureBackend;
  let running: Running;

  const startWith = async (...policies: readonly string[]): Promise<void> => {
    const [first, second] = steps('a.read', 'a.add');
    const compositeTools = [{ name: 'both', steps: [first, { ...second, dependsOn: ['s0'] }] }];
    const authz = { type: 'cedar', policies };
    const aggregation = { tools: [{ workload: 'a', filter: ['read'] }] };
    running = await startRuntime(
      filesWithPolicies({ a: backend.url }, authz, { compositeTools, aggregation }),
      {},
      { features: policyFeatures() },
    );
  };
  const namesFor = async (subject: string): Promise<readonly string[]> =>
    (await openSession(running.url, {}, as(subject))).toolNames();

  beforeEach(async () => {
    backend = await startBackend({ tools: [tool('read'), tool('add')] });
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const ada = (name: string): string => `permit(principal == Client::"ada", action, resource == Tool::"${name}");`;

  test('does so who may call it and each of its tools, hidden ones too', async () => {
    await startWith(ada('both'), ada('a_read'), ada('a_add'));
    assert.deepEqual(await namesFor('ada'), ['a_read', 'both']);
    assert.deepEqual(await namesFor('bob'), []);
    const session = await openSession(running.url, {}, as('ada'));
    assert.equal(resultText(await session.call('both')), 'add {"of":"a.add"}');
  });

  test('who may not call one of its tools neither sees it nor can call it, and nothing is called', async () => {
    await startWith(ada('both'), ada('a_read'));
    assert.deepEqual(await namesFor('ada'), ['a_read']);
    const session = await openSession(running.url, {}, as('ada'));
    assert.equal(errorOf(await session.call('both')).data.reason, 'forbidden');
    assert.equal(count(backend, 'tools/call'), 0);
  });

  test('who may call its tools, but not it, does not see it either', async () => {
    await startWith(ada('a_add'), ada('a_read'));
    assert.deepEqual(await namesFor('ada'), ['a_read']);
  });

  test('a policy about an argument decides on each call of a step, in the middle as well', async () => {
    const few = 'permit(principal, action, resource == Tool::"a_add") when { context.arg_of == "other" };';
    await startWith(ada('both'), ada('a_read'), few);
    assert.deepEqual(await namesFor('ada'), ['a_read', 'both'], 'it could be allowed');
    const session = await openSession(running.url, {}, as('ada'));
    const answer = await session.call('both');
    assert.equal(resultOf(answer)['isError'], true);
    assert.equal(resultText(answer), 'step "s1" failed: forbidden');
    assert.equal(count(backend, 'tools/call'), 1, 'the step before it');
  });
});

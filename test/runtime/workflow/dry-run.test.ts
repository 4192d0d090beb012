import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { compositeToolSchema } from '../../../runtime/config/index.ts';
import { checkedParameters, dryRun, dryRunReport } from '../../../runtime/workflow/index.ts';

const steadyNow = (): number => 0;

const workflow = (text: string) => compositeToolSchema.parse({ name: 'w', ...(parse(text) as object) });

const run = (text: string, params: Readonly<Record<string, unknown>> = {}) =>
  dryRun(workflow(text), params, { steadyNow });

const report = async (text: string, params: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  dryRunReport({ name: 'w' }, params, await run(text, params));

describe('a dry run', () => {
  test('shows each step in its wave, what is known expanded, and of the rest what it needs', async () => {
    const text = `
steps:
  - { id: tell, tool: chat.post, dependsOn: [ask], arguments: { to: '{{.steps.ask.output.content.who}} of {{.steps.issue.output.id}}' } }
  - { id: issue, tool: tracker.get, arguments: { id: '{{.params.issue}}', deep: { '{{': 1 }, n: 7 } }
  - id: ask
    type: elicitation
    message: 'Who, for {{.params.issue}} {{.steps.issue.output.title}}?'
    schema: { type: object, properties: { who: { type: string } } }
output:
  properties:
    issue: { type: integer, value: '{{.params.issue}}' }
    more: { type: object, properties: { title: { value: '{{.steps.issue.output.title}}' } } }
`;
    assert.equal(
      await report(text, { issue: 7 }),
      `w {"issue":7}
wave 1
  issue: calls tracker.get
    arguments.id = "7"
    arguments.deep = {"{{":1}
    arguments.n = 7
wave 2
  ask: asks the user, after issue
    message = Who, for {{.params.issue}} {{.steps.issue.output.title}}? (needs the result of issue)
    schema = {"type":"object","properties":{"who":{"type":"string"}}}
wave 3
  tell: calls chat.post, after issue, ask
    arguments.to = {{.steps.ask.output.content.who}} of {{.steps.issue.output.id}} (needs the results of ask, issue)
output
  issue = "7"
  more.title = {{.steps.issue.output.title}} (needs the result of issue)
`,
    );
  });

  test('a template that could read a result, and does not for these parameters, is expanded', async () => {
    const text = `steps: [{ id: a, tool: t.u }, { id: b, tool: t.u, arguments: { x: '{{if .params.long}}{{.steps.a.output.id}}{{else}}short{{end}}' } }]`;
    assert.match(await report(text, { long: false }), /arguments\.x = "short"/);
    assert.match(await report(text, { long: true }), /\(needs the result of a\)/);
  });

  test('nothing gets at a result by another way', async () => {
    for (const read of [
      '{{json .steps}}',
      '{{json .}}',
      '{{range .steps}}{{.status}}{{end}}',
      '{{index .steps .params.id}}',
    ]) {
      const text = `steps: [{ id: a, tool: t.u }, { id: b, tool: t.u, dependsOn: [a], arguments: { x: '${read}' } }]`;
      assert.match(await report(text, { id: 'a' }), /\(needs the results? of/, read);
    }
  });

  test('a step whose condition is false is skipped, and later steps see its default results', async () => {
    const text = `
steps:
  - { id: a, tool: t.u, condition: '{{eq .params.env "production"}}', arguments: { x: '{{.params.none}}' }, defaultResults: { id: 9 } }
  - { id: b, tool: t.u, arguments: { x: '{{.steps.a.status}} {{.steps.a.output.id}}' } }
  - { id: c, tool: t.u, condition: '{{.steps.b.output.go}}', arguments: { x: '{{.params.env}}' } }
`;
    const { steps, failure } = await run(text, { env: 'test' });
    assert.deepEqual(
      steps.map(({ id, fate }) => [id, fate]),
      [
        ['a', 'skipped'],
        ['b', 'runs'],
        ['c', 'may be skipped'],
      ],
    );
    assert.equal(failure, undefined);
    const shown = await report(text, { env: 'test' });
    assert.match(shown, /condition = \{\{eq \.params\.env "production"\}\} → "false"/);
    assert.match(shown, /arguments\.x = "skipped 9"/);
    assert.match(shown, /arguments\.x = "test"/);
  });

  test('a step that is sure to fail is named, with why; not one that goes on after failures', async () => {
    const { failure, steps } = await run(`
steps:
  - { id: a, tool: t.u, arguments: { x: '{{.params.none}}' }, onError: { action: continue } }
  - { id: b, tool: t.u, arguments: { x: '{{.steps.a.status}}' } }
  - { id: c, tool: t.u, condition: 'maybe{{.params.none}}' }
`);
    assert.deepEqual(failure, { step: 'c', reason: 'a template uses a value that is not there' });
    assert.equal(steps[0]?.fate, 'fails');
    assert.equal(steps[1]?.texts[0]?.kind === 'known' && steps[1].texts[0].value, 'failed');
  });

  test('a required output is sure to fail without a value of its type and a default; not where a step may give it', async () => {
    const output = (property: string, required = '[o]'): string =>
      `steps: [{ id: a, tool: t.u }]\noutput: { properties: { o: ${property} }, required: ${required} }`;
    const failure = { step: undefined, reason: 'there is no value for "o"' };
    const value = "value: '{{.params.x}}'";
    assert.deepEqual((await run(output(`{ type: string, ${value} }`))).failure, failure);
    assert.deepEqual((await run(output(`{ type: integer, ${value} }`), { x: 'no number' })).failure, failure);
    assert.match(
      await report(output(`{ type: string, ${value} }`)),
      /\nfails at its output: there is no value for "o"\n$/,
    );
    for (const [property, params, required] of [
      [`{ type: integer, ${value} }`, { x: 7 }, '[o]'],
      [`{ type: integer, ${value}, default: 7 }`, { x: 'no number' }, '[o]'],
      [`{ type: string, ${value} }`, {}, '[]'],
      [`{ type: string, value: '{{.steps.a.output.x}}' }`, {}, '[o]'],
      [`{ type: object, ${value}, properties: { i: { type: string, ${value} } } }`, {}, '[o]'],
    ] as const)
      assert.equal((await run(output(property, required), params)).failure, undefined, property);
  });

  test('an argument or output that is named as a condition is shown as what it is', async () => {
    const text = `
steps: [{ id: a, tool: t.u, condition: '{{.params.x}}', arguments: { condition: '{{.params.x}}', "the\\e[2J condition": 7 } }]
output: { properties: { condition: { type: string, value: '{{.params.x}}' } } }
`;
    const shown = await report(text, { x: 'true' });
    assert.match(shown, /\n    condition = \{\{\.params\.x\}\} → "true"\n    arguments\.condition = "true"\n/);
    assert.match(shown, /\n    arguments\.the \[2J condition = 7\noutput\n  condition = "true"\n$/);
  });

  test('a condition that gives no truth value fails its step', async () => {
    const { failure } = await run(`steps: [{ id: a, tool: t.u, condition: '{{.params.x}}' }]`, { x: 'perhaps' });
    assert.deepEqual(failure, { step: 'a', reason: 'its condition gives neither true nor false' });
  });

  describe('of a forEach', () => {
    const loop = (more = '') => `
steps:
  - { id: find, tool: t.find }
  - id: each
    type: forEach
    collection: '{{json .params.list}}'
    itemVar: row
    maxIterations: 7
    step:
      tool: t.u
      condition: '{{ne .index 1}}'
      arguments: { x: '{{.row}} {{.params.p}}', y: '{{.forEach.index}} {{.steps.find.output.id}}' }
    ${more}
`;

    test('shows the first items where the collection is known', async () => {
      const shown = await report(loop(), { list: ['a', 'b', 'c', 'd', 'e', 'f'], p: 1 });
      assert.match(shown, /each: calls t\.u for each item, after find\n/);
      assert.match(shown, /item 0: arguments\.x = "a 1"\n    item 0: arguments\.y = .* \(needs the result of find\)\n/);
      assert.match(shown, /item 1: condition = \{\{ne \.index 1\}\} → "false"\n    item 2: condition/);
      assert.match(shown, /further items = 1\n/);
    });

    test('shows what depends on an item unexpanded where the collection is not known', async () => {
      const shown = await report(loop().replace('{{json .params.list}}', '{{json .steps.find.output.rows}}'), { p: 1 });
      assert.match(shown, /collection = \{\{json \.steps\.find\.output\.rows\}\} \(needs the result of find\)/);
      assert.match(shown, /each item: arguments\.x = \{\{\.row\}\} \{\{\.params\.p\}\} \(needs the item\)/);
      assert.match(shown, /each item: arguments\.y = .* \(needs the result of find and the item\)/);
    });

    test('says that a collection is too long, or none', async () => {
      const long = await run(loop(), { list: Array.from({ length: 8 }, String), p: 1 });
      assert.equal(long.failure?.reason, 'its collection has 8 items, and maxIterations is 7');
      const none = await run(loop(), { list: {}, p: 1 });
      assert.deepEqual(none.failure, { step: 'each', reason: 'its collection is no JSON array' });
    });

    test('an item that fails ends the step, unless it goes on after failures', async () => {
      assert.equal((await run(loop(), { list: ['a'] })).failure?.step, 'each');
      assert.equal((await run(loop('onError: { action: continue }'), { list: ['a'] })).failure, undefined);
    });
  });

  test('shows no control character of a parameter or a definition', async () => {
    const text = `steps: [{ id: a, tool: t.u, arguments: { x: '{{.params.x}}' } }, { id: b, tool: t.u, arguments: { "y\\e[2J": "\\e[2J{{.steps.a}}" } }]`;
    const shown = await report(text, { x: '\u001b[2J\u009b2J' });
    assert.doesNotMatch(shown.replaceAll('\n', ''), /\p{Cc}/u);
  });
});

describe('parameters of a workflow', () => {
  const config = workflow(`
parameters:
  type: object
  properties: { issue: { type: integer }, channel: { enum: [a, b], default: a }, list: { type: array, items: { type: string } } }
  required: [issue]
  additionalProperties: false
steps: [{ id: a, tool: t.u }]
`);

  test('get their defaults', () => {
    assert.deepEqual(checkedParameters(config, '{"issue":1}'), { ok: true, params: { issue: 1, channel: 'a' } });
  });

  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['a field of another type', '{"issue":"x"}', /^issue must be integer$/],
    ['an item of a list', '{"issue":1,"list":["a",2]}', /^list\.1 must be string$/],
    ['a field that is missing', '{}', /^they must have required property 'issue'$/],
    ['a field that there is not', '{"issue":1,"isue":2}', /^they must NOT have additional properties: "isue"$/],
    ['a value that is none of those allowed', '{"issue":1,"channel":"c"}', /^channel must be .*: \["a","b"\]$/],
    ['no object', '[1]', /^they are no JSON object; write \{"name": value\}$/],
    ['no JSON', '{issue: 1}', /^they are no JSON object; write \{"name": value\}$/],
  ];
  for (const [what, text, problem] of rows) {
    test(`are refused with the field, the reason and what there is: ${what}`, () => {
      const checked = checkedParameters(config, text);
      assert.ok(!checked.ok);
      assert.match(checked.problems[0] ?? '', problem);
      assert.equal(checked.problems.at(-1), 'w takes issue (integer, required), channel (default "a"), list (array)');
    });
  }
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { RunCommand, RunTarget } from '../../runtime/process/index.ts';
import { runWorkflow } from '../../runtime/run-workflow.ts';
import { answerJson, count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { configFile, silentLog, startRuntime } from '../fixtures/runtime.ts';

/** What the command was given, and what came of it. */
interface Ran {
  readonly exitCode: number;
  readonly printed: string;
  readonly told: readonly string[];
}

const ask = (more: object = {}): object => ({
  id: 'ask',
  type: 'elicitation',
  dependsOn: ['one'],
  message: 'Go on with {{.steps.one.output.id}}?',
  schema: { type: 'object', properties: { who: { type: 'string' }, n: { type: 'integer' } }, required: ['who'] },
  ...more,
});

const WORKFLOWS = [
  {
    name: 'plain',
    parameters: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] },
    steps: [
      { id: 'one', tool: 'a.one', arguments: { of: '{{.params.of}}' } },
      { id: 'two', tool: 'a.two', arguments: { id: '{{.steps.one.output.id}}' } },
    ],
    output: { properties: { id: { type: 'string', value: '{{.steps.one.output.id}}' } } },
  },
  { name: 'asks', steps: [{ id: 'one', tool: 'a.one' }, ask(), who()] },
  { name: 'stops', steps: [{ id: 'one', tool: 'a.one' }, ask({ onDecline: { action: 'skip_remaining' } }), who()] },
  { name: 'fails', steps: [{ id: 'one', tool: 'a.broken' }] },
  { name: 'lost', steps: [{ id: 'one', tool: 'a.nowhere' }] },
  {
    name: 'loop',
    steps: [
      { id: 'each', type: 'forEach', collection: '[1,2]', step: { tool: 'a.two', arguments: { x: '{{.item}}' } } },
    ],
  },
];

const GUARDED = { type: 'oidc', oidc: { issuer: 'https://idp.example.com', clientId: 'vmcp', audience: 'vmcp' } };

function who(): object {
  return { id: 'who', tool: 'a.two', arguments: { who: '{{.steps.ask.output.content.who}}' } };
}

describe('vmcp workflow run', () => {
  let directory: string;
  let backend: FixtureBackend;
  let config: string;
  let definition: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'vmcp-run-'));
    config = join(directory, 'config.yaml');
    definition = join(directory, 'definition.yaml');
    backend = await startBackend({
      tools: ['one', 'two', 'broken'],
      on: ({ recorded: { method, params } }) => {
        if (method !== 'tools/call') return undefined;
        if (params['name'] === 'one')
          return answerJson('{"content":[],"structuredContent":{"id":"B-1","big":12345678901234567890}}');
        if (params['name'] === 'broken')
          return answerJson('{"isError":true,"content":[{"type":"text","text":"out of\\u001b[2J order"}]}');
        return undefined;
      },
    });
    await writeFile(config, configFile({ a: backend.url }, { compositeTools: WORKFLOWS })[0]?.text ?? '');
    await writeFile(
      definition,
      `kind: VirtualMCPCompositeToolDefinition
spec: { name: fails, steps: [{ id: other, tool: a.one }] }
`,
    );
  });
  beforeEach(() => void backend.requests.splice(0));
  after(async () => {
    await backend.close();
    await rm(directory, { recursive: true });
  });

  const run = async (
    target: RunTarget,
    more: Partial<RunCommand> = {},
    given: { readonly typed?: readonly string[]; readonly signal?: AbortSignal } = {},
  ): Promise<Ran> => {
    const [printed, told]: [string[], string[]] = [[], []];
    const typed = given.typed?.values();
    const show = (line: string): void => void told.push(line);
    const exitCode = await runWorkflow(
      { kind: 'run-workflow', target, params: undefined, answers: [], token: undefined, isDryRun: false, ...more },
      {
        print: (text) => void printed.push(text),
        tell: show,
        textOf: async (source) => ('text' in source ? source.text : readFile(source.file, 'utf8')),
        terminal: typed && { show, ask: async () => typed.next().value },
        log: silentLog,
        steadyNow: () => 0,
        signal: given.signal ?? new AbortController().signal,
      },
    );
    return { exitCode, printed: printed.join(''), told };
  };
  const named = (name: string): RunTarget => ({ kind: 'named', config, name });
  const of = { params: { text: '{"of":"x"}' } };
  const calls = (): number => count(backend, 'tools/call');
  const STEPS = ['[1/3] step "one" completed', '[2/3] step "ask" completed', '[3/3] step "who" completed'];

  test('tells of each step, and prints what the workflow gives', async () => {
    assert.deepEqual(await run(named('plain'), of), {
      exitCode: 0,
      printed: '{"id":"B-1"}\n',
      told: ['[1/2] step "one" completed', '[2/2] step "two" completed'],
    });
    assert.equal(calls(), 2);
  });

  test('prints the content where nothing is structured', async () => {
    const { exitCode, printed, told } = await run(named('loop'));
    assert.equal(exitCode, 0);
    assert.deepEqual(told, ['[1/1] step "each" completed']);
    assert.equal((JSON.parse(printed) as { count: number }).count, 2);
    const asked = await run(named('asks'), { answers: ['ask={"who":"Ada"}'] });
    assert.deepEqual(JSON.parse(asked.printed), { content: [{ type: 'text', text: 'two {"who":"Ada"}' }] });
  });

  test('prints a result as it came: no digit of it is lost', async () => {
    const { printed } = await run({ kind: 'file', file: definition, config });
    assert.equal(printed, '{"id":"B-1","big":12345678901234567890}\n');
  });

  describe('and questions', () => {
    test('are answered from the command line', async () => {
      assert.deepEqual((await run(named('asks'), { answers: ['ask={"who":"Ada"}'] })).told, STEPS);
    });

    test('can be declined there: the workflow does what its author says', async () => {
      const declined = await run(named('asks'), { answers: ['ask=decline'] });
      assert.equal(declined.exitCode, 1);
      assert.equal(declined.told.at(-1), 'asks: step "ask" failed: the user declined');
      assert.equal((await run(named('stops'), { answers: ['ask=decline'] })).exitCode, 0);
    });

    test('are asked at the terminal, until the answer is what they ask for', async () => {
      const typed = ['x', '', '', 'Ada', 'many', '3'];
      const { exitCode, printed, told } = await run(named('asks'), {}, { typed });
      assert.equal(exitCode, 0);
      assert.match(printed, /Ada/);
      assert.deepEqual(told, [
        STEPS[0],
        'step "ask" asks: Go on with B-1?',
        '  a text is wanted',
        '  a whole number is wanted',
        STEPS[1],
        STEPS[2],
      ]);
    });

    test('end the run where nobody is there to answer', async () => {
      const { exitCode, told } = await run(named('asks'));
      assert.equal(exitCode, 1);
      assert.equal(
        told.at(-1),
        `step "ask" asks "Go on with B-1?", and there is no terminal to answer at; give --answer 'ask={…}'`,
      );
      const left = await run(named('asks'), {}, { typed: ['accept'] });
      assert.match(left.told.at(-1) ?? '', /and it was not answered$/);
      assert.equal(left.exitCode, 1);
    });
  });

  test('a workflow that fails says why, without control characters, and exits with 1', async () => {
    assert.deepEqual(await run(named('fails')), {
      exitCode: 1,
      printed: '',
      told: ['[0/1] step "one" failed', 'fails: step "one" failed: out of [2J order'],
    });
  });

  test('a workflow that is not offered says which tool is missing', async () => {
    const { exitCode, told } = await run(named('lost'));
    assert.equal(exitCode, 1);
    assert.deepEqual(told, ['lost: unknown tool', 'it is not offered, as no backend lists a.nowhere']);
  });

  test('the workflow of another file takes the place of one of its name', async () => {
    const file = { kind: 'file', file: definition, config } as const;
    assert.deepEqual((await run(file)).told, ['[1/1] step "other" completed']);
  });

  describe('by a server that runs', () => {
    let url: string;
    let stop: () => Promise<void>;
    before(async () => {
      const [file] = configFile({ a: backend.url }, { compositeTools: WORKFLOWS });
      ({ url, stop } = await startRuntime(file ? [file] : []));
    });
    after(() => stop());
    const server = (name: string, at = url): RunTarget => ({ kind: 'server', url: at, name });

    test('tells the same, and prints the same', async () => {
      assert.deepEqual(await run(server('plain'), of), await run(named('plain'), of));
      assert.deepEqual((await run(server('asks'), { answers: ['ask={"who":"Ada"}'] })).told, STEPS);
    });

    test('that refuses the parameters, has no such tool, is away or is none of MCP: it is said, with exit code 1', async () => {
      const last = async (target: RunTarget): Promise<string> => {
        const { exitCode, printed, told } = await run(target);
        assert.deepEqual([exitCode, printed], [1, '']);
        return told.at(-1) ?? '';
      };
      assert.match(await last(server('plain')), /^plain: the arguments .* must have required property 'of'$/);
      assert.equal(await last(server('nope')), 'nope: unknown tool');
      assert.match(await last(server('plain', `${url}/x`)), /gives no answer of MCP: HTTP 404; is its URL/);
      assert.match(await last(server('plain', 'http://127.0.0.1:1/mcp')), /^no answer of a server at .*ECONNREFUSED/);
    });

    test('without a token where one is needed: which flag has it', async () => {
      const guarded = await startRuntime(configFile({}, { incomingAuth: GUARDED }));
      assert.match((await run(server('plain', guarded.url))).told[0] ?? '', /asks for a token .*--token-file FILE/);
      await guarded.stop();
    });
  });

  describe('calls nothing and exits with 2', () => {
    const write = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const refused = async (
      target: RunTarget,
      more: Partial<RunCommand>,
      ...words: readonly RegExp[]
    ): Promise<void> => {
      const { exitCode, printed, told } = await run(target, more);
      assert.deepEqual([exitCode, printed], [2, '']);
      for (const word of words) assert.match(told.join('\n'), word);
      assert.equal(calls(), 0);
    };

    test('for parameters that are none: it names the field, the reason and what the workflow takes', async () => {
      await refused(
        named('plain'),
        { params: { text: '{"of":7}' } },
        /^--params: of must be string$/m,
        /takes of \(string, required\)/,
      );
      await refused(named('plain'), {}, /must have required property 'of'/);
      await refused(named('plain'), { params: { text: 'of=7' } }, /no JSON object; write \{"name": value\}/);
      await refused(
        named('plain'),
        { params: { file: '/nowhere' } },
        /^--params: it cannot be read: .*\/nowhere.*; check/,
      );
      await refused(
        { kind: 'server', url: 'http://127.0.0.1:1', name: 'x' },
        { params: { text: '[]' } },
        /no JSON object/,
      );
    });

    test('for answers that are none, or to steps that ask nothing', async () => {
      await refused(named('asks'), { answers: ['aks={}'] }, /no step of this id asks the user; .* are ask$/);
      await refused(named('plain'), { ...of, answers: ['one={}'] }, /plain asks nothing$/);
      await refused(named('asks'), { answers: ['ask'] }, /names no step; write STEP=/);
      await refused(named('asks'), { answers: ['ask=yes'] }, /ask=…: it is no JSON object; write STEP=/);
      await refused(named('asks'), { answers: ['ask={}', 'ask=decline'] }, /has an answer already/);
    });

    test('for a workflow that there is not, or several of a file without a name', async () => {
      await refused(named('plane'), {}, /no composite tool "plane": there are plain, asks/);
      await refused({ kind: 'file', file: config, config: undefined }, {}, /name one: vmcp workflow run NAME -c/);
      await refused(
        { kind: 'file', file: await write('none.yaml', 'name: x'), config },
        {},
        /there is no composite tool/,
      );
    });

    test('for a workflow with faults, or a configuration with some', async () => {
      const misspelt = await write('misspelt.yaml', 'compositeTools: [{ name: w, steps: [{ id: a, tol: a.b }] }]');
      await refused({ kind: 'file', file: misspelt, config }, {}, /misspelt\.yaml: w: steps\[0\]\.tol: unknown key/);
      const stray = await write(
        'stray.yaml',
        `compositeTools: [{ name: w, steps: [{ id: a, tool: a.b, arguments: { x: '{{.steps.b}}' } }] }]`,
      );
      await refused(
        { kind: 'file', file: stray, config },
        {},
        /steps\[0\]\.arguments\.x: no step has the id "b"; name a step/,
      );
      await refused({ kind: 'file', file: definition, config: misspelt }, {}, /misspelt\.yaml:1:\d+: /);
    });

    test('for a file that is no YAML, a dry run included: it names the place', async () => {
      const twice =
        'kind: VirtualMCPCompositeToolDefinition\nspec:\n  name: w\n  steps: [{ id: a, tool: a.one }]\n  name: w\n';
      const file = await write('twice.yaml', twice);
      await refused({ kind: 'file', file, config }, {}, /twice\.yaml:5:3: not valid YAML: Map keys must be unique/);
      await refused({ kind: 'file', file, config }, { isDryRun: true }, /twice\.yaml:5:3: /);
      const open = await write('open.yaml', `${twice.slice(0, -10)}  more: "text\n  other: [1\n`);
      await refused({ kind: 'file', file: open, config }, {}, /open\.yaml:\d+:\d+: not valid YAML: Missing closing "/);
    });

    test('for manifests without a configuration; a dry run does with them', async () => {
      const file = { kind: 'file', file: definition, config: undefined } as const;
      await refused(file, {}, /these are manifests, and a run needs a configuration; give one with -c, or --dry-run$/);
      assert.equal((await run(file, { isDryRun: true })).exitCode, 0);
    });
  });

  test('a dry run calls nothing, prints what would be called, and exits with 1 where that is sure to fail', async () => {
    const { exitCode, printed, told } = await run(named('plain'), { ...of, isDryRun: true });
    assert.deepEqual([exitCode, told], [0, []]);
    assert.match(printed, /one: calls a\.one\n {4}arguments\.of = "x"\n/);
    assert.equal(backend.requests.length, 0);
    const file = join(directory, 'sure.yaml');
    await writeFile(file, "compositeTools: [{ name: w, steps: [{ id: a, tool: a.b, condition: '{{.params.x}}' }] }]");
    const failing = await run({ kind: 'file', file, config: undefined }, { isDryRun: true });
    assert.equal(failing.exitCode, 1);
    assert.match(failing.printed, /fails at step a: a template uses a value that is not there\n$/);
  });

  test('a signal ends a run under way', async () => {
    const ended = new AbortController();
    backend.set({
      tools: ['one', 'two', 'broken'],
      on: ({ recorded }) => (recorded.method === 'tools/call' ? () => {} : undefined),
    });
    const running = run(named('plain'), of, { signal: ended.signal });
    await backend.received(({ method }) => method === 'tools/call');
    ended.abort(new Error('ended by SIGINT'));
    assert.deepEqual(await running, { exitCode: 1, printed: '', told: ['ended by SIGINT'] });
  });
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { runWorkflow } from '../../../runtime/run-workflow.ts';
import { silentLog } from '../../fixtures/runtime.ts';

/** What `vmcp workflow run w --url` does with a server that gives these results, the last one again and again. */
const runAt = async (
  results: readonly object[],
  { answers = [], typed }: { readonly answers?: readonly string[]; readonly typed?: readonly string[] } = {},
) => {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    const result = results[Math.min(requests, results.length - 1)];
    requests += 1;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const [printed, told]: [string[], string[]] = [[], []];
  const lines = typed?.values();
  const show = (line: string): void => void told.push(line);
  const ask = async (prompt: string): Promise<string | undefined> => {
    show(prompt);
    return lines?.next().value;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const exitCode = await runWorkflow(
    {
      kind: 'run-workflow',
      target: { kind: 'server', url, name: 'w' },
      params: undefined,
      answers,
      token: undefined,
      isDryRun: false,
    },
    {
      print: (text) => void printed.push(text),
      tell: show,
      textOf: async () => '{}',
      terminal: lines && { show, ask },
      log: silentLog,
      steadyNow: () => 0,
      signal: new AbortController().signal,
    },
  );
  await new Promise((resolve) => server.close(resolve));
  return { exitCode, printed: printed.join(''), told, requests };
};

const asks = (params: object, method = 'elicitation/create') => ({
  resultType: 'input_required',
  requestState: 'x',
  inputRequests: { ask: { method, params } },
});
const QUESTION = asks({
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { who: { type: 'string' } } },
});
const DONE = { resultType: 'complete', content: [], structuredContent: { id: 7 } };

describe('a result that is not complete', () => {
  const rows: readonly (readonly [string, object, RegExp])[] = [
    ['asks for nothing', { resultType: 'input_required', requestState: 'x' }, /asks for nothing that it names$/],
    [
      'asks to open a page',
      asks({ mode: 'url', message: 'Sign in', url: 'https://idp.example.com/x', elicitationId: 'e' }),
      /asks for "ask" is elicitation\/create of mode url Sign in https:\/\/idp\.example\.com\/x$/,
    ],
    ['asks for a sample', asks({ messages: [] }, 'sampling/createMessage'), /"ask" is sampling\/createMessage$/],
    ['is of a type that is unknown', { resultType: 'later', content: [] }, /^w: it is not done \("later"\)/],
    ['is of a type that is no text', { resultType: null, content: [] }, /^w: it is not done \(null\)/],
  ];
  for (const [what, result, words] of rows) {
    test(`is a failure with what it asks for: one that ${what}`, async () => {
      const { exitCode, printed, told } = await runAt([result]);
      assert.deepEqual([exitCode, printed], [1, '']);
      assert.match(told.join('\n'), words);
    });
  }

  test('one without a type is complete, as before 2026-07-28', async () => {
    const { exitCode, printed } = await runAt([{ content: [], structuredContent: { id: 7 } }]);
    assert.deepEqual([exitCode, printed], [0, '{"id":7}\n']);
  });
});

describe('an answer of the command line', () => {
  test('is sent once: a step that asks again has refused it', async () => {
    const { exitCode, told, requests } = await runAt([QUESTION], { answers: ['ask={"who":7}'] });
    assert.deepEqual([exitCode, requests], [1, 2]);
    assert.deepEqual(told, ['step "ask" asks "Who?", and the answer to step "ask" was refused']);
  });

  test('that is refused is asked for at the terminal, where there is one', async () => {
    const { exitCode, told } = await runAt([QUESTION, QUESTION, DONE], {
      answers: ['ask={"who":7}'],
      typed: ['', 'Ada'],
    });
    assert.equal(exitCode, 0);
    assert.deepEqual(told.slice(0, 2), ['the answer to step "ask" was refused', 'step "ask" asks: Who?']);
  });

  test('that no step asks for is said to be so, and the result is what it is', async () => {
    assert.deepEqual(await runAt([QUESTION, DONE], { answers: ['ask={"who":"Ada"}', 'aks=decline'] }), {
      exitCode: 0,
      printed: '{"id":7}\n',
      told: ['--answer aks=…: no step of this id has asked'],
      requests: 2,
    });
  });
});

describe('no control character of a server reaches the terminal', () => {
  const EVIL = '\u001b[2J\u009b2J\n[1/1] step "x" completed\u202e';
  const isPlain = (told: readonly string[]): void => assert.doesNotMatch(told.join(''), /\p{Cc}|\p{Cf}/u);

  test('from a question, its fields, and what is said of an answer that is none of its choices', async () => {
    const properties = { [EVIL]: { title: EVIL, enum: [EVIL, 'a'], default: EVIL } };
    const question = { ...asks({ message: EVIL, requestedSchema: { type: 'object', properties } }) };
    const { told } = await runAt([question, DONE], { typed: ['', 'none of them', 'a'] });
    isPlain(told);
    assert.equal(told[0], 'step "ask" asks:  [2J 2J [1/1] step "x" completed ');
    assert.equal(told.filter((line) => line.endsWith('is wanted')).length, 1);
  });

  test('from a question that nobody answers, whatever its key', async () => {
    const { told } = await runAt([
      {
        ...QUESTION,
        inputRequests: { [EVIL]: { method: 'elicitation/create', params: { message: EVIL, requestedSchema: {} } } },
      },
    ]);
    assert.equal(told.length, 1);
    isPlain(told);
  });

  test('from a failure', async () => {
    isPlain((await runAt([{ isError: true, content: [{ type: 'text', text: EVIL }] }])).told);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../runtime/process/clock.ts';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import {
  answerError,
  answerJson,
  type Behaviour,
  type Exchange,
  type FixtureBackend,
  hang,
  startBackend,
  textResult,
} from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import type { RawAnswer } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { type CallAsClient, legacyCaller, modernCaller } from '../../fixtures/workflow-callers.ts';
import { type CaseFile, type SemanticCase, semanticCases, type ToolAnswer } from './semantic-cases.ts';

const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'array'] as const;

/** Arguments of more than one type. */
const MIXED = {
  nullable: { type: ['integer', 'null'] },
  either: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
  several: { type: ['integer', 'string'] },
};

/** A tool that wants an argument of each type, under the name of the type. */
const typed = JSON.stringify({
  name: 'typed',
  inputSchema: {
    type: 'object',
    properties: { ...Object.fromEntries(TYPES.map((type) => [type, { type }])), ...MIXED },
  },
});

const TOOLS = ['one', 'two', 'three', 'four', 'dotted.name', typed];

/** The case that is tried, and what has come to the backends for it. */
interface Trial {
  readonly of: SemanticCase;
  readonly calls: string[];
  readonly answered: Map<string, number>;
  underWay: number;
  atOnce: number;
  /** Answers that wait until as many calls are there as the case wants under way at one time. */
  held: (() => void)[];
}

for (const { file, cases } of semanticCases())
  describe(file, () => {
    const clock = frozenClock();
    let trial: Trial;
    let backends: readonly FixtureBackend[];
    let running: Running;
    const callers: Partial<Record<'legacy' | 'modern', CallAsClient>> = {};
    /** Some delays are over as soon as they begin. */
    const elapsing: Clock = {
      now: clock.now,
      after: (ms, run) => {
        const timer = clock.after(ms, run);
        if (trial?.of.elapse?.includes(ms)) setImmediate(() => clock.advance(ms));
        return timer;
      },
    };

    before(async () => {
      backends = await Promise.all(
        ['a', 'b'].map((workload) =>
          startBackend({ tools: TOOLS, on: (exchange) => behaviourIn(trial, workload, exchange, clock) }),
        ),
      );
      const [a, b] = backends;
      const files = configFile({ a: a?.url ?? '', b: b?.url ?? '' }, { compositeTools: toolsOf(cases) });
      running = await startRuntime(files, {}, { clock: elapsing });
      callers.legacy = await legacyCaller(running.url);
      callers.modern = modernCaller(running.url);
    });
    after(async () => {
      await Promise.all(backends.map((backend) => backend.close()));
      await running.stop();
    });

    for (const [index, of] of cases.entries())
      for (const era of ['legacy', 'modern'] as const)
        test(`${of.name} (${era})`, async () => {
          trial = { of, calls: [], answered: new Map(), underWay: 0, atOnce: 0, held: [] };
          const asked: object[] = [];
          const user = [...(of.user ?? [])];
          const answer = await callers[era]?.(`w${index}`, of.params ?? {}, (question) => {
            asked.push({ message: question['message'], requestedSchema: question['requestedSchema'] });
            return user.shift() ?? assert.fail('one question too many');
          });
          assert.ok(answer);
          checkAnswer(of, answer);
          if (of.asked) assert.deepEqual(asked, of.asked);
          if (of.calls) assert.deepEqual(of.inAnyOrder ? trial.calls.toSorted() : trial.calls, of.calls);
          if (of.atOnce !== undefined) assert.equal(trial.atOnce, of.atOnce);
        });
  });

const toolsOf = (cases: CaseFile['cases']): readonly object[] =>
  // Copies: the configuration takes no YAML aliases, which one object written twice would be.
  cases.map(({ workflow }, index) => ({ name: `w${index}`, ...structuredClone(workflow) }));

const behaviourIn = (
  trial: Trial | undefined,
  workload: string,
  { recorded: { method, params } }: Exchange,
  clock: FrozenClock,
): Behaviour | undefined => {
  if (method !== 'tools/call' || !trial) return undefined;
  const tool = `${workload}.${String(params['name'])}`;
  trial.calls.push(`${tool} ${JSON.stringify(params['arguments'])}`);
  const turn = trial.answered.get(tool) ?? 0;
  trial.answered.set(tool, turn + 1);
  const written = trial.of.answers?.[tool] ?? { structured: { got: params['arguments'] } };
  const answers = Array.isArray(written) ? (written as readonly ToolAnswer[]) : [written as ToolAnswer];
  const answer = answerIn(answers[Math.min(turn, answers.length - 1)] ?? {}, clock);
  trial.underWay += 1;
  trial.atOnce = Math.max(trial.atOnce, trial.underWay);
  return (exchange) => {
    trial.held.push(() => {
      trial.underWay -= 1;
      answer(exchange);
    });
    const { atOnce = 1, calls = [] } = trial.of;
    if (trial.held.length < atOnce && trial.calls.length < calls.length) return;
    // One more that was sent with them would be here by then.
    setImmediate(() => setImmediate(() => trial.held.splice(0).forEach((release) => release())));
  };
};

const answerIn = ({ structured, text, result, error, rpcError, silent }: ToolAnswer, clock: FrozenClock): Behaviour => {
  if (silent !== undefined)
    return (exchange) => {
      hang(exchange);
      clock.advance(silent);
    };
  if (rpcError) return answerError(JSON.stringify(rpcError));
  if (error !== undefined)
    return answerJson(JSON.stringify({ content: [{ type: 'text', text: error }], isError: true }));
  if (result) return answerJson(JSON.stringify(result));
  if (text !== undefined) return answerJson(textResult(text));
  const content = [{ type: 'text', text: JSON.stringify(structured) }];
  return answerJson(JSON.stringify({ content, structuredContent: structured }));
};

const checkAnswer = ({ result, text, fails, code, issues }: SemanticCase, answer: RawAnswer): void => {
  if (code !== undefined) {
    const error = errorOf(answer);
    assert.equal(error?.code, code, JSON.stringify(answer.json));
    if (fails !== undefined) assert.ok(error.message.includes(fails), error.message);
    if (issues) assert.deepEqual(error.data['issues'], issues);
    return;
  }
  const given = resultOf(answer);
  assert.ok(given, JSON.stringify(answer.json));
  assert.equal(given['isError'] === true, fails !== undefined, JSON.stringify(answer.json));
  if (fails !== undefined) return assert.ok(resultText(answer).includes(fails), resultText(answer));
  if (text !== undefined) return assert.equal(resultText(answer), text);
  assert.ok(
    isDeepStrictEqual(given['structuredContent'], result),
    `${JSON.stringify(given)}\nis not\n${JSON.stringify(result)}`,
  );
};

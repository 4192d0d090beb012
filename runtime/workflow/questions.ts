import type { Call, ClientAnswer } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { isObject, memberAt } from '../json/index.ts';
import { canAnswer } from '../mcp/index.ts';
import type { Clock } from '../process/index.ts';
import { type Attempts, timedOut } from './attempt.ts';
import type { PlannedStep } from './plan.ts';
import type { RunDeps } from './run.ts';
import type { ElicitationParams } from './step.ts';
import type { WaitingRun } from './states.ts';
import { ownMember } from './values.ts';

const METHOD = 'elicitation/create';

/**
 * How the client of a call is asked. Revisions before 2026-07-28: at once, on a stream of its session. 2026-07-28: with
 * the answer to its request, once nothing else of the workflow can go on; it answers with another request, for which
 * nothing is held here; so it does through `call_tool`, which passes both on.
 */
export const askerOf = (call: Call, { resumed, answers }: Answers, clock: Pick<Clock, 'now'>): RunDeps['ask'] => {
  const isAskedLater = asksLater(call);
  const given = new Map(isAskedLater ? answers : []);
  return async (step, question, signal) => {
    const params = Buffer.from(JSON.stringify(question));
    demandElicitation(call, params);
    if (!isAskedLater) return call.client.ask({ method: METHOD, params, key: step.id }, signal);
    demandInTime(step, resumed, clock);
    const answer = given.get(step.id);
    // An answer that is refused is asked for again.
    given.delete(step.id);
    return answer;
  };
};

interface Answers {
  readonly resumed: WaitingRun | undefined;
  readonly answers: StepAnswers;
}

/** Each answer that a client of 2026-07-28 has given and that was refused was one attempt of its step. */
export const attemptsLeft = ({ id, attempts }: PlannedStep, resumed: WaitingRun | undefined): Attempts => {
  const refused = ownMember(resumed?.refused, id) ?? 0;
  return refused === 0 ? attempts : { ...attempts, retryCount: Math.max(0, attempts.retryCount - refused) };
};

/** As `WaitingRun.refused`, of these steps, which wait: an answer that one of them has had was refused. */
export const refusedSoFar = (
  steps: readonly string[],
  { resumed, answers }: Answers,
): NonNullable<WaitingRun['refused']> =>
  Object.fromEntries(
    steps.flatMap((id) => {
      const refused = (ownMember(resumed?.refused, id) ?? 0) + (answers.has(id) ? 1 : 0);
      return refused === 0 ? [] : [[id, refused]];
    }),
  );

/** Whether the client is asked with an answer of ours. */
export const asksLater = ({ client, origin }: Call): boolean => client.era === 'modern' && origin !== 'workflow';

/** What the client has answered, by the step that has asked. */
export type StepAnswers = ReadonlyMap<string, ClientAnswer>;

/** The answers of a client to `asked`, the steps by the keys of their questions. Throws `invalid_params`. */
export const answersTo = ({ answered }: Call, asked: ReadonlyMap<string, string>): StepAnswers => {
  const answers = answered?.answers;
  const found = new Map<string, ClientAnswer>();
  if (!answers || asked.size === 0) return found;
  demandAnswers(answers);
  for (const [key, step] of asked) {
    const span = memberAt(answers, 0, key);
    if (span) found.set(step, { kind: 'result', result: answers.subarray(span.start, span.end) });
  }
  return found;
};

/** Throws `invalid_params` where `params.inputResponses` is missing or no object. */
export const demandAnswers = (answers: Buffer | undefined): void => {
  if (!answers || !isObject(answers, 0))
    throw new VmcpError('invalid_params', 'params.inputResponses is not an object');
};

const demandElicitation = ({ client }: Call, params: Buffer): void => {
  if (canAnswer(client.capabilities, METHOD, params)) return;
  throw client.era === 'modern'
    ? new VmcpError('missing_client_capability', 'the workflow asks its user, which the client has not declared', {
        data: { requiredCapabilities: { elicitation: {} } },
      })
    : new VmcpError('client_cannot_answer', 'the workflow asks its user, which the client has not declared');
};

const demandInTime = (
  { id, attempts: { timeoutMs } }: PlannedStep,
  resumed: WaitingRun | undefined,
  { now }: Pick<Clock, 'now'>,
): void => {
  const askedAt = ownMember(resumed?.asked, id);
  if (askedAt !== undefined && timeoutMs !== undefined && now() >= askedAt + timeoutMs) throw timedOut(timeoutMs);
};

/** One of the `inputRequests` of MCP "Multi Round-Trip Requests". */
export const inputRequest = (params: ElicitationParams): InputRequest => ({ method: METHOD, params });

export interface InputRequest {
  readonly method: string;
  readonly params: ElicitationParams;
}

/** All of them, by step. */
export const inputRequests = (questions: ReadonlyMap<string, ElicitationParams>): Readonly<Record<string, unknown>> =>
  Object.fromEntries([...questions].map(([step, params]) => [step, inputRequest(params)]));

import { parseTemplate } from '../../templates/index.ts';
import type { ClientAnswer } from '../../call/index.ts';
import { StepFailure } from '../failure.ts';
import type { CheckValue, Issue } from '../json-schema.ts';
import type { StepConfig, StepOutcome, StepType } from '../step.ts';
import { isObjectValue, parsed } from '../values.ts';

/** Asks the user (MCP "Elicitation"). */
export const elicitationStep: StepType = {
  plan: ({ message = '', schema = NOTHING_ASKED, onDecline, onCancel }, compile) => {
    const template = parseTemplate(message);
    const check = compile(schema);
    const actions: Refusals = { decline: onDecline?.action ?? 'abort', cancel: onCancel?.action ?? 'abort' };
    return {
      templates: [template],
      tools: [],
      run: async ({ expand, data, ask, signal }) => {
        const question = { message: expand(template, data), requestedSchema: schema };
        const answer = await ask(question, signal);
        return answer ? outcomeOf(answer, check, actions) : { kind: 'waiting', question };
      },
    };
  },
};

/** A question that is only to be agreed to. */
const NOTHING_ASKED = { type: 'object', properties: {} } as const;

type Action = NonNullable<StepConfig['onDecline']>['action'];
type Refusals = Readonly<Record<'decline' | 'cancel', Action>>;

const outcomeOf = (answer: ClientAnswer, check: CheckValue, actions: Refusals): StepOutcome => {
  if (answer.kind === 'error') throw new StepFailure('the client could not ask its user');
  const result = parsed(answer.result.toString());
  const { action, content = {} } = isObjectValue(result) ? result : {};
  if (action === 'accept') return accepted(content, (value) => check(value, answer.result.length));
  if (action !== 'decline' && action !== 'cancel') throw new StepFailure('the client gave no answer of its user');
  return refused(action, actions[action]);
};

const refused = (action: keyof Refusals, then: Action): StepOutcome => {
  if (then === 'abort')
    throw new StepFailure(action === 'decline' ? 'the user declined' : 'the user cancelled', { isFinal: true });
  return { kind: then === 'continue' ? 'completed' : 'ended', output: { action } };
};

const accepted = (content: unknown, check: (value: unknown) => readonly Issue[]): StepOutcome => {
  const [issue] = check(content);
  if (issue)
    throw new StepFailure(`the answer of the user is not what was asked: ${issue.path || 'it'} ${issue.message}`);
  return { kind: 'completed', output: { action: 'accept', content } };
};

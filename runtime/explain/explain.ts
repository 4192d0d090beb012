import type { AdmissionSteps, CallRecord, Caller, RequestHead } from '../call/index.ts';
import type { LiveCatalog } from '../catalog/index.ts';
import { asVmcpError, type VmcpError } from '../errors.ts';
import type { Gate } from '../gate/index.ts';
import { catalogSteps } from './catalog-steps.ts';
import type { Explanation, Step } from './explanation.ts';
import type { Found } from './found.ts';
import { identified, type IdentityDeps, unidentified } from './identity-step.ts';
import { limitsStep } from './limits-step.ts';
import { type OutgoingDeps, outgoingSteps } from './outgoing-steps.ts';
import { policiesStep } from './policies-step.ts';
import { type ExplainSearch, searchStep } from './search-step.ts';
import { accessOf, type Question, QuestionError, readQuestion } from './question.ts';

export interface ExplainDeps extends IdentityDeps, OutgoingDeps {
  /** Finds the caller of a head as a request would; counts no failed login. Throws VmcpError. */
  readonly examineCaller: (head: RequestHead) => Caller | Promise<Caller>;
  readonly gate: Pick<Gate, 'policies' | 'examinePolicies' | 'examineLimits'>;
  readonly lookUp: AdmissionSteps['lookUp'];
  readonly explainSearch?: ExplainSearch | undefined;
  readonly liveCatalog: Pick<LiveCatalog, 'list' | 'offeredTo' | 'trace'>;
}

export type Explain = (question: Question) => Promise<Explanation>;

/** Explains, step by step, what would become of a request. */
export const explainer =
  (deps: ExplainDeps): Explain =>
  async (question) => {
    const caller = await callerOf(question, deps);
    if ('code' in caller) return { allowed: false, listed: false, steps: [unidentified(caller), ...SKIPPED] };
    const access = accessOf(question, caller);
    const found = await lookedUp(access, deps);
    const listed = await isListed(question, caller, deps);
    const steps = [
      identified(caller, deps),
      await policiesStep(access, found, deps.gate),
      ...(await catalogSteps(access, found, deps)),
      ...(await outgoingSteps(found.target, caller, deps)),
      await limitsStep(access, found, deps.gate),
    ];
    const allowed = steps.every(({ outcome }) => outcome !== 'refused');
    const { name, query } = question;
    if (query === undefined) return { allowed, listed, steps };
    // What is not found may be called all the same.
    const offered = await deps.liveCatalog.offeredTo(caller);
    return { allowed, listed, steps: [...steps, await searchStep({ name, query }, offered, deps.explainSearch)] };
  };

const SKIPPED: readonly Step[] = (['policies', 'filter', 'conflict', 'backend', 'outgoing', 'limits'] as const).map(
  (step) => ({ step, outcome: 'skipped', reason: 'nobody is refused or admitted by it who is not known' }),
);

const callerOf = async ({ token }: Question, { examineCaller }: ExplainDeps): Promise<Caller | VmcpError> => {
  try {
    return await examineCaller({
      http: 'POST',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      clientAddress: LOOPBACK,
      correlationId: () => 'explain',
    });
  } catch (error) {
    return asVmcpError(error);
  }
};

/** Incoming auth `local` knows the user of this machine. */
const LOOPBACK = '127.0.0.1';

const lookedUp = async (access: Parameters<ExplainDeps['lookUp']>[0], { lookUp }: ExplainDeps): Promise<Found> => {
  const record: CallRecord = { target: undefined, decision: undefined };
  try {
    return { target: await lookUp(access, record), refusal: undefined };
  } catch (error) {
    return { target: record.target, refusal: asVmcpError(error) };
  }
};

const LISTS = { tool: ['tools'], prompt: ['prompts'], resource: ['resources', 'resourceTemplates'] } as const;

const isListed = async ({ kind, name }: Question, caller: Caller, deps: ExplainDeps): Promise<boolean> => {
  const { list, offeredTo } = deps.liveCatalog;
  try {
    // Refuses where lists are refused; waits for backends as a list does.
    await list(LISTS[kind][0], undefined, caller);
  } catch {
    return false;
  }
  const { listed, find } = await offeredTo(caller);
  const target = kind === 'resource' ? find('offered', kind, name) : undefined;
  const shown = target?.kind === 'backend' && target.template !== undefined ? target.template : name;
  return LISTS[kind].some((each) => listed[each].entries.some((entry) => entry.name === shown));
};

/** The answer to one `POST /explain`. */
export interface ExplainAnswer {
  readonly status: 200 | 400;
  readonly body: object;
}

export const answerQuestion =
  (explain: Explain) =>
  async (body: Buffer): Promise<ExplainAnswer> => {
    try {
      return { status: 200, body: await explain(readQuestion(body)) };
    } catch (error) {
      if (!(error instanceof QuestionError)) throw error;
      return { status: 400, body: { error: 'invalid_question', message: error.message } };
    }
  };

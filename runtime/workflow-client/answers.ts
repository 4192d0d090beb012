import { objectIn } from '../json/index.ts';
import { type Answer, asked, type Question, type Terminal } from './prompts.ts';

/** Answers by step, as the command line has them. */
export type GivenAnswers = ReadonlyMap<string, Answer>;

/** Answers the question of a step. Throws where there is no answer. */
export type Answerer = (step: string, question: Question) => Promise<Answer>;

/** Answers of the form `STEP=JSON`, `STEP=decline` or `STEP=cancel`. Throws what the user is told. */
export const readAnswers = (texts: readonly string[]): GivenAnswers => {
  const answers = new Map<string, Answer>();
  for (const text of texts) {
    const at = text.indexOf('=');
    const [step, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1) throw new Error(`--answer ${text}: it names no step; ${FORM}`);
    if (answers.has(step)) throw new Error(`--answer ${step}=…: the step has an answer already; give one`);
    answers.set(step, answerIn(step, value));
  }
  return answers;
};

const FORM = 'write STEP={"field": value}, STEP=decline or STEP=cancel';

const answerIn = (step: string, value: string): Answer => {
  if (value === 'decline' || value === 'cancel') return { action: value };
  const content = objectIn(value);
  if (!content) throw new Error(`--answer ${step}=…: it is no JSON object; ${FORM}`);
  return { action: 'accept', content };
};

export interface Answering {
  readonly answer: Answerer;
  /** Steps whose answers from the command line were not asked for. */
  readonly unused: () => readonly string[];
}

/**
 * Answers from the command line, each once: a step that asks again has not taken it. What they lack is asked at the
 * terminal, where there is one.
 */
export const answering = (given: GivenAnswers, terminal: Terminal | undefined): Answering => {
  const used = new Set<string>();
  const answer: Answerer = async (step, question) => {
    const isRefused = used.has(step);
    used.add(step);
    const known = isRefused ? undefined : given.get(step);
    if (known) return known;
    const refused = isRefused && given.has(step) ? `the answer to step ${JSON.stringify(step)} was refused` : undefined;
    if (refused !== undefined) terminal?.show(refused);
    const typed = terminal && (await asked({ step, question }, terminal));
    if (typed) return typed;
    const words = terminal
      ? 'it was not answered'
      : (refused ?? `there is no terminal to answer at; give --answer '${step}={…}'`);
    throw new Error(`step ${JSON.stringify(step)} asks ${JSON.stringify(question.message)}, and ${words}`);
  };
  return { answer, unused: () => [...given.keys()].filter((step) => !used.has(step)) };
};

import assert from 'node:assert/strict';
import { resultOf } from '../../../fixtures/answers.ts';
import type { RawAnswer } from '../../../fixtures/raw-client.ts';

export type AskedQuestion = readonly [
  key: string,
  question: { readonly method: string; readonly params: Readonly<Record<string, unknown>> },
];

/** The one question that an answer asks, with its key, and no state to come back with. */
export const questionIn = (answer: RawAnswer): AskedQuestion => {
  assert.equal(answer.status, 200, answer.text);
  const { resultType, inputRequests = {}, requestState } = resultOf(answer);
  assert.deepEqual([resultType, requestState], ['input_required', undefined], answer.text);
  const questions = Object.entries(inputRequests as Readonly<Record<string, AskedQuestion[1]>>);
  assert.equal(questions.length, 1);
  return questions[0] as AskedQuestion;
};

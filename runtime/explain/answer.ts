import type { Explain } from './explain.ts';
import { QuestionError, readQuestion } from './question.ts';

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

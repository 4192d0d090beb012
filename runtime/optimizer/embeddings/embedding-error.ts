/**
 * Why a text has no vector: the service is not reached, does not answer in time, refuses, or answers with what is no
 * vector of its model.
 */
export type EmbeddingFailure = 'unavailable' | 'timeout' | 'refused' | 'invalid';

/** Fit for logs: it holds no text that was sent and nothing of an answer. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  readonly reason: EmbeddingFailure;
  /** The text itself is at fault, or the number of texts: asking again changes nothing. */
  readonly isOfTexts: boolean;

  constructor(reason: EmbeddingFailure, message: string, isOfTexts = false) {
    super(message);
    this.reason = reason;
    this.isOfTexts = isOfTexts;
  }
}

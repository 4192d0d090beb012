/** One thing that is wrong with a manifest. */
export interface ResourceProblem {
  /** `spec.config.backends[0].url`; empty for the object as a whole. */
  readonly path: string;
  /** What is wrong, e.g. `must be at least 1`. */
  readonly reason: string;
  /** What to do about it. */
  readonly remedy: string;
  /**
   * The schema has no such field. What the API server stored has only fields of its CRD, so that one is newer than this
   * program.
   */
  readonly isUnknownField?: boolean;
}

/** `a.b[0].c`; keys that are no plain words are quoted. */
export const pathText = (path: readonly (string | number)[]): string =>
  path
    .map((step) => stepText(step))
    .join('')
    .replace(/^\./, '');

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return /^[A-Za-z0-9_-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

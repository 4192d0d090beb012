import { EvaluationError } from './errors.ts';

export interface TemplateBounds {
  /** Bytes of the result in UTF-8, and characters of any text made on the way. 1 MiB by default. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * Steps of an expansion: each operand, call and repetition is one, and so are 64 characters of each text that is
   * made. 1,000,000 by default.
   */
  readonly maxSteps?: number | undefined;
  /** Time of an expansion by `now`. 100 ms by default. */
  readonly maxMs?: number | undefined;
  /** Milliseconds, from any origin. Without it an expansion is bounded by its steps alone. */
  readonly now?: (() => number) | undefined;
}

const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_STEPS = 1_000_000;
const MAX_MS = 100;
/** Steps between two looks at the clock: some tens of microseconds. */
const STEPS_PER_LOOK = 256;
const CHARACTERS_PER_STEP = 64;

/** What one expansion may still do; every part of it spends here. */
export class Budget {
  readonly maxOutputBytes: number;
  #stepsLeft: number;
  #untilLook = STEPS_PER_LOOK;
  readonly #deadline: number;
  readonly #now: (() => number) | undefined;

  constructor(bounds: TemplateBounds) {
    this.maxOutputBytes = bounds.maxOutputBytes ?? MAX_OUTPUT_BYTES;
    this.#stepsLeft = bounds.maxSteps ?? MAX_STEPS;
    this.#now = bounds.now;
    this.#deadline = (bounds.now?.() ?? 0) + (bounds.maxMs ?? MAX_MS);
  }

  /** Throws EvaluationError. */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new EvaluationError('the template takes more steps than it may', 'steps');
    this.#untilLook -= steps;
    if (this.#untilLook > 0 || this.#now === undefined) return;
    this.#untilLook = STEPS_PER_LOOK;
    if (this.#now() > this.#deadline) throw new EvaluationError('the template takes more time than it may', 'time');
  }

  /** Before two texts are compared, of which the data may hold longer ones than a template makes. */
  spendOnComparison(a: string, b: string): void {
    this.spend(Math.floor(Math.min(a.length, b.length) / CHARACTERS_PER_STEP));
  }

  /** Before a text of this length is made, or read from end to end. Throws EvaluationError. */
  spendOnText(characters: number): void {
    if (characters > this.maxOutputBytes) throw tooLong(this.maxOutputBytes);
    this.spend(1 + Math.floor(characters / CHARACTERS_PER_STEP));
  }
}

export const tooLong = (bytes: number): EvaluationError =>
  new EvaluationError(`the template makes a text of more than ${bytes} bytes`, 'output');

/** The evaluations for a decision have done as much as they may. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError';
}

/**
 * How much the evaluations for one decision may still do. Counted and not timed, so that an expression has the same
 * result on a busy machine.
 */
export class Budget {
  #units: number;
  #isExceeded = false;

  constructor(units: number) {
    this.#units = units;
  }

  /** Remains true: CEL lets `true || x` be true although `x` fails, also where it failed for want of budget. */
  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  /** Throws BudgetExceededError. */
  spend(units: number): void {
    this.#units -= units;
    if (this.#units >= 0) return;
    this.#isExceeded = true;
    throw new BudgetExceededError();
  }
}

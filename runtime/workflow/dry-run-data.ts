import type { TemplateData } from './expansion.ts';
import type { StepResult } from './results.ts';

/** A template has read what only a run knows. */
export class NotYetKnown extends Error {
  override readonly name = 'NotYetKnown';
}

export interface DryRunDataOf {
  readonly workflow: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Ids of all steps. */
  readonly steps: readonly string[];
  /** Of steps that are known to be skipped, or to fail; read at each expansion. */
  readonly results: ReadonlyMap<string, StepResult>;
}

/** What templates see before a run, as in `Results`: reading the result of a step throws NotYetKnown. */
export const dryRunData = ({ workflow, params, steps: ids, results }: DryRunDataOf): TemplateData => {
  const steps = {};
  for (const id of ids) {
    const get = (): unknown => {
      const result = results.get(id);
      if (!result) throw new NotYetKnown(id);
      const { status, output, error } = result;
      return { __proto__: null, status, output, ...(error !== undefined && { error }) };
    };
    Object.defineProperty(steps, id, { enumerable: true, get });
  }
  return { __proto__: null, params, steps, workflow: { __proto__: null, name: workflow }, vars: {} };
};

/** What the templates of an inner step see while the items of its loop are not known. */
export const dataOfUnknownItem = (data: TemplateData, itemVar: string): TemplateData => {
  const item = {
    get index() {
      return notYetKnown('index');
    },
    get [itemVar]() {
      return notYetKnown(itemVar);
    },
  };
  return Object.defineProperties({ __proto__: null, ...data, forEach: item }, Object.getOwnPropertyDescriptors(item));
};

const notYetKnown = (name: string): never => {
  throw new NotYetKnown(name);
};

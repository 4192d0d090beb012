import { parentPort } from 'node:worker_threads';
import { sealWith } from '../engine/seal.ts';
import { reconciledKinds } from '../kinds/index.ts';
import type { KubeObject } from '../object.ts';
import type { Plan } from '../plan/plan.ts';
import type { ResolvedReference } from '../plan/references.ts';
import type { Settings } from '../plan/settings.ts';
import { checkedReport } from './check-report.ts';
import { type Judged, judgedNow } from './judge.ts';
import { valueOf } from './lean-json.ts';
import type { Answer } from './work-thread.ts';

/** What a plan is made of, without what cannot be copied to another thread. */
export interface PlanInput {
  readonly kind: string;
  readonly bundle: unknown;
  readonly settings: Omit<Settings, 'seal'>;
  /** What `Settings.seal` works with, newest first; absent where there is none. */
  readonly sealKeys: readonly Uint8Array[] | undefined;
}

export interface JudgeInput {
  readonly object: KubeObject;
  readonly references: readonly ResolvedReference[];
}

/** Answers in a thread what the thread that started it asks (`WorkThread`). */
export const serveTasks = (): void => {
  const kinds = new Map(reconciledKinds().map((kind) => [kind.kind, kind]));
  const plan = ({ kind, bundle, settings, sealKeys }: PlanInput): Plan => {
    const found = kinds.get(kind);
    if (found === undefined) throw new Error(`there is no kind ${kind} to plan`);
    return found.plan(bundle, { ...settings, ...(sealKeys && { seal: sealWith(() => sealKeys) }) });
  };
  const judge = ({ object, references }: JudgeInput): Judged => judgedNow(object, references);
  const tasks: Readonly<Record<string, (input: never) => unknown>> = {
    plan,
    judge,
    json: valueOf,
    report: checkedReport,
  };
  const answer = (task: string, input: unknown): Answer => {
    try {
      return { output: tasks[task]?.(input as never) };
    } catch (error) {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      return { error: { name, message, stack } };
    }
  };
  parentPort?.on('message', ({ task, input }: { readonly task: string; readonly input: unknown }) =>
    parentPort?.postMessage(answer(task, input)),
  );
};

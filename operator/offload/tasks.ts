/*
 * Work whose cost the author of an object decides, done in a worker thread when its input is large: making a plan
 * (planner.ts), validating an object (validate.ts), parsing JSON (lean-json.ts). Small inputs are handled in the main
 * thread. Work that takes too long or too much memory rejects with `TooCostlyError`, and its thread ends.
 * Start with `serveTasks` below, which is what the thread runs; threads/work-thread.ts is the main thread's end of it.
 */

import { parentPort } from 'node:worker_threads';
import { loadCedar } from '../../runtime/gate/index.ts';
import { reconciledKinds } from '../kinds/index.ts';
import type { Plan } from '../plan/plan.ts';
import { hmacWith } from '../plan/mac.ts';
import type { Answer, Begun } from '../threads/work-thread.ts';
import { type ValidateInput, type ValidationResult, validatedNow } from './validate.ts';
import { valueOf } from './lean-json.ts';
import type { PlanInput } from './planner.ts';
import { checkedReport } from './check-report.ts';

/** Answers in a thread what the thread that started it asks (`WorkThread`). */
export const serveTasks = (): void => {
  const kinds = new Map(reconciledKinds().map((kind) => [kind.kind, kind]));
  const plan = ({ kind, bundle, settings, macKeys }: PlanInput): Plan => {
    const found = kinds.get(kind);
    if (found === undefined) throw new Error(`there is no kind ${kind} to plan`);
    return found.plan(bundle, { ...settings, ...(macKeys && { mac: hmacWith(() => macKeys) }) });
  };
  const validate = ({ object, references }: ValidateInput): ValidationResult => validatedNow(object, references);
  const tasks: Readonly<Record<string, (input: never) => unknown>> = {
    plan,
    validate,
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
  parentPort?.on('message', ({ task, input }: { readonly task: string; readonly input: unknown }) => {
    if (hasPolicies(input)) loadCedar();
    parentPort?.postMessage({ begun: process.threadCpuUsage() } satisfies Begun);
    parentPort?.postMessage(answer(task, input));
  });
};

const hasPolicies = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'hasPolicies' in input && input.hasPolicies === true;

import { type Caller, callerKey } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Log, Meter } from '../observe/index.ts';
import { type Clock, sleep } from '../process/index.ts';
import type { Leg, LegEnd, Refuse } from './leg.ts';
import { inputRequest, type StepAnswers } from './questions.ts';
import type { Cancellable } from './scope.ts';
import type { TaskOwners } from './task-owners.ts';
import type { KeptTask, TaskQuestion, TaskRecords, TaskRef, TaskState, WaitingTask } from './task-records.ts';
import { completed, endedBy, taskEnded } from './task-replies.ts';

export interface RunningTasksDeps {
  readonly records: TaskRecords;
  readonly owners: TaskOwners;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly meter: Meter;
}

/** A leg that goes on after the answer to its client. */
export interface RunningTask {
  readonly ref: TaskRef;
  readonly kept: KeptTask;
  readonly leg: Leg;
  readonly scope: Cancellable;
  readonly ended: Promise<LegEnd>;
  readonly before: Asked;
  readonly refuse: Refuse;
}

/** What a client was asked before a leg, and what it has answered. */
export interface Asked {
  readonly requests: Readonly<Record<string, TaskQuestion>>;
  readonly answers: StepAnswers;
  readonly asked: number;
}

export const NOTHING_ASKED: Asked = { requests: {}, answers: new Map(), asked: 0 };

/** MCP Tasks: a key is used for one question only, and a question that is still open keeps its key. */
export const waitingOf = ({ questions, run }: Extract<LegEnd, { kind: 'waits' }>, before: Asked): WaitingTask => {
  const open = new Map(Object.entries(before.requests).map(([key, { step }]) => [step, key]));
  let { asked } = before;
  const requests = [...questions].map(([step, params]) => {
    const known = before.answers.has(step) ? undefined : open.get(step);
    if (known === undefined) asked += 1;
    return [known ?? `${step}.${asked}`, { step, request: inputRequest(params) }] as const;
  });
  return { kind: 'waiting', run, requests: Object.fromEntries(requests), asked };
};

/** The tasks whose steps run in this process. */
export class RunningTasks {
  readonly #deps: RunningTasksDeps;
  /** By the secret of the id. */
  readonly #running = new Map<string, Cancellable>();
  readonly #counts = new Map<string, number>();
  readonly #writes = new Set<Promise<void>>();

  constructor(deps: RunningTasksDeps) {
    this.#deps = deps;
    deps.meter.gauge(
      { name: 'vmcp.workflow.tasks', help: 'Workflows that run in this process as tasks.' },
      () => this.#running.size,
    );
  }

  hasRoom(caller: Caller): boolean {
    const most = caller.kind === 'user' ? LIMITS.workflowTasksPerUser : LIMITS.workflowTasks;
    return this.#running.size < LIMITS.workflowTasks && (this.#counts.get(callerKey(caller)) ?? 0) < most;
  }

  /** The task is cancelled if it runs here. */
  cancel(secret: string): void {
    this.#running.get(secret)?.abort(new VmcpError('cancelled', 'the task was cancelled'));
  }

  /** Goes on with a task after the answer to its client; `owners.enter` was called before. */
  add({ ref, kept, leg, scope, ended, before, refuse }: RunningTask): void {
    const release = leg.call.client.keep?.();
    this.#running.set(ref.secret, scope);
    this.#count(ref.caller, 1);
    const written = ended
      .then(
        (end): TaskState => (end.kind === 'over' ? completed(end.result) : waitingOf(end, before)),
        (error: unknown): TaskState => endedBy(error, leg.call, refuse),
      )
      .then((state) => this.#write(ref, kept, this.#fitting(state, { ref, kept, leg, refuse })))
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, workflow: ref.workflow }, 'the outcome of a task could not be kept'),
      )
      .finally(() => {
        this.#running.delete(ref.secret);
        this.#count(ref.caller, -1);
        this.#deps.owners.leave();
        this.#writes.delete(written);
        release?.();
      });
    this.#writes.add(written);
  }

  #fitting(
    state: TaskState,
    { ref, kept, leg, refuse }: Pick<RunningTask, 'ref' | 'kept' | 'leg' | 'refuse'>,
  ): TaskState {
    if (this.#deps.records.fits({ ...kept.record, state })) return state;
    return endedBy(taskEnded(ref, 'what has to be kept of it is larger than 1 MiB'), leg.call, refuse);
  }

  /** Tries again for a while where the store cannot be reached. */
  async #write(ref: TaskRef, kept: KeptTask, state: TaskState): Promise<void> {
    for (let left = WRITES; ; left -= 1) {
      try {
        // A task that was cancelled meanwhile stays so.
        await this.#deps.records.replace(ref, kept, state);
        return;
      } catch (error) {
        if (left <= 1) throw error;
      }
      await sleep(this.#deps.clock, WRITE_PAUSE_MS);
    }
  }

  #count(caller: Caller, by: 1 | -1): void {
    const key = callerKey(caller);
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  /** Ends the tasks that run here, and waits until that is kept. */
  async stop(): Promise<void> {
    for (const scope of this.#running.values())
      scope.abort(new VmcpError('workflow_failed', 'the server that ran the workflow has stopped'));
    await Promise.all(this.#writes);
  }
}

const WRITES = 5;
const WRITE_PAUSE_MS = 2_000;

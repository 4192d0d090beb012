import { type Caller, callerKey } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { networkOf } from '../http/index.ts';
import { LIMITS } from '../limits.ts';
import type { Log, Meter } from '../observe/index.ts';
import { type Clock, sleep } from '../process/index.ts';
import type { Leg, LegEnd, Refuse } from './leg.ts';
import { inputRequest, type StepAnswers } from './questions.ts';
import type { Cancellable } from './scope.ts';
import type { TaskOwners } from './task-owners.ts';
import {
  type KeptTask,
  type TaskQuestion,
  type TaskRecords,
  type TaskRef,
  type TaskState,
  ttlMsOf,
  type WaitingTask,
} from './task-records.ts';
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

/** Room for one task in this process, from before its record says that it runs here until its outcome is kept. */
export interface TaskPlace {
  readonly caller: Caller;
  /** Where its client is. */
  readonly address: string | undefined;
  /** The secret of the id; undefined: the task has no id yet. */
  readonly secret: string | undefined;
  running?: { readonly ref: TaskRef; readonly scope: Cancellable; readonly written: Promise<void> };
}

interface Bound {
  /** What tasks are counted by. */
  readonly key: string;
  readonly most: number;
}

/** Nobody at one address takes the places of all anonymous clients. */
const boundsOf = ({ caller, address }: Pick<TaskPlace, 'caller' | 'address'>): readonly Bound[] =>
  caller.kind === 'user'
    ? [{ key: callerKey(caller), most: LIMITS.workflowTasksPerUser }]
    : [
        { key: callerKey(caller), most: LIMITS.workflowTasksAnonymous },
        { key: `${callerKey(caller)} ${networkOf(address)}`, most: LIMITS.workflowTasksPerAddress },
      ];

/** The tasks whose steps run in this process. */
export class RunningTasks {
  readonly #deps: RunningTasksDeps;
  readonly #places = new Set<TaskPlace>();
  readonly #counts = new Map<string, number>();
  readonly #stopping = new AbortController();
  #isChecking = false;

  constructor(deps: RunningTasksDeps) {
    this.#deps = deps;
    deps.meter.gauge(
      { name: 'vmcp.workflow.tasks', help: 'Workflows that run in this process as tasks.' },
      () => this.#places.size,
    );
  }

  /**
   * Takes room for a task, and has `write` make its record. The room is given back where `write` makes none. Throws
   * `busy`, and what the store throws.
   */
  async reserve<T extends object>(
    of: Omit<TaskPlace, 'running'>,
    write: () => Promise<T | undefined>,
  ): Promise<{ readonly place: TaskPlace; readonly written: T } | undefined> {
    const place = this.#take(of);
    const { owners } = this.#deps;
    let isEntered = false;
    let written: T | undefined;
    try {
      await owners.enter();
      isEntered = true;
      written = await write();
      return written && { place, written };
    } finally {
      if (written === undefined) {
        this.#giveBack(place);
        if (isEntered) owners.leave();
      }
    }
  }

  #take(of: Omit<TaskPlace, 'running'>): TaskPlace {
    const bounds = boundsOf(of);
    if (
      this.#places.size >= LIMITS.workflowTasks ||
      bounds.some(({ key, most }) => (this.#counts.get(key) ?? 0) >= most)
    )
      throw new VmcpError('busy', 'too many tasks run; try again later');
    const place = { ...of };
    this.#places.add(place);
    for (const { key } of bounds) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return place;
  }

  #giveBack(place: TaskPlace): void {
    this.#places.delete(place);
    for (const { key } of boundsOf(place)) {
      const count = (this.#counts.get(key) ?? 0) - 1;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }

  /** Whether the task runs here, is about to, or its outcome is still being kept. */
  has(secret: string): boolean {
    for (const place of this.#places) if ((place.running?.ref.secret ?? place.secret) === secret) return true;
    return false;
  }

  /** The task is cancelled if it runs here. */
  cancel(secret: string): void {
    this.#abort((ref) => ref.secret === secret, new VmcpError('cancelled', 'the task was cancelled'));
  }

  /** Ends the tasks that run here: the store does not hear of this process, and others may take it for dead. */
  cutOff(): void {
    this.#abort(() => true, new VmcpError('workflow_failed', 'the server that ran the workflow was cut off'));
  }

  #abort(isMeant: (ref: TaskRef) => boolean, reason: VmcpError): void {
    for (const { running } of this.#places) if (running && isMeant(running.ref)) running.scope.abort(reason);
  }

  /** Ends the tasks whose records are gone, or say that they run here no more: a message may have been lost. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      for (const { running } of this.#places) if (running) await this.#checkOne(running.ref);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the records of tasks cannot be read at the moment');
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkOne(ref: TaskRef): Promise<void> {
    const state = (await this.#deps.records.read(ref))?.record.state;
    if (state?.kind !== 'working' || state.owner !== this.#deps.owners.own) this.cancel(ref.secret);
  }

  /** Goes on with a task after the answer to its client, in the place that was reserved for it. */
  add(place: TaskPlace, { ref, kept, leg, scope, ended, before, refuse }: RunningTask): void {
    const release = leg.call.client.keep?.();
    const written = ended
      .then(
        (end): TaskState => (end.kind === 'over' ? completed(end.result) : waitingOf(end, before)),
        (error: unknown): TaskState => endedBy(error, leg.call, refuse),
      )
      .finally(() => release?.())
      .then((state) => this.#write(ref, kept, this.#fitting(state, { ref, kept, leg, refuse })))
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, workflow: ref.workflow }, 'the outcome of a task could not be kept'),
      )
      .finally(() => {
        this.#giveBack(place);
        this.#deps.owners.leave();
      });
    place.running = { ref, scope, written };
  }

  #fitting(
    state: TaskState,
    { ref, kept, leg, refuse }: Pick<RunningTask, 'ref' | 'kept' | 'leg' | 'refuse'>,
  ): TaskState {
    if (this.#deps.records.fits({ ...kept.record, state })) return state;
    return endedBy(taskEnded(ref, 'what has to be kept of it is larger than 1 MiB'), leg.call, refuse);
  }

  /** Tries again where the store cannot be reached: until the record is over, or once more when the process stops. */
  async #write(ref: TaskRef, kept: KeptTask, state: TaskState): Promise<void> {
    const { clock, records } = this.#deps;
    const until = kept.record.createdAt + ttlMsOf(kept.record);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const isLast = this.#stopping.signal.aborted;
      try {
        // A task that was cancelled meanwhile stays so.
        await records.replace(ref, kept, state);
        return;
      } catch (error) {
        if (isLast || clock.now() + pauseMs >= until) throw error;
      }
      await sleep(clock, pauseMs, this.#stopping.signal);
    }
  }

  /** Resolves once the tasks that run now have ended and their outcomes are kept. */
  async idle(): Promise<void> {
    await Promise.all([...this.#places].map(async ({ running }) => running?.written));
  }

  /** Ends the tasks that run here, and waits until that is kept. */
  stop(): Promise<void> {
    this.#stopping.abort();
    this.#abort(() => true, new VmcpError('workflow_failed', 'the server that ran the workflow has stopped'));
    return this.idle();
  }
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

import { createHash } from 'node:crypto';
import { type Caller, clientKey, type WorkflowTaskName } from '../call/index.ts';
import { type Clock, seal, unseal } from '../process/index.ts';
import { prefixed, type Store } from '../store/index.ts';
import { ID_BYTES, KEPT_BYTES, placeOf, quotaOf, sharedKey } from './kept.ts';
import type { InputRequest } from './questions.ts';
import type { WaitingRun } from './states.ts';
import { parsed } from './values.ts';

/** A workflow that its client looks after as a task (extension `io.modelcontextprotocol/tasks`). All of it is JSON. */
export interface TaskRecord {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When the time of the workflow is over. */
  readonly endsAt: number;
  /** The arguments of the call, with defaults. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly state: TaskState;
}

export type TaskState = WorkingTask | WaitingTask | EndedTask;

export interface WorkingTask {
  readonly kind: 'working';
  /** The process that runs it. */
  readonly owner: string;
  /** Questions asked so far, so that no key is used twice. */
  readonly asked: number;
  /** The questions that are still open, by key: the step that has asked each. */
  readonly open: Readonly<Record<string, string>>;
}

/** Nothing of it is held by any process. */
export interface WaitingTask {
  readonly kind: 'waiting';
  readonly run: WaitingRun;
  /** What the client is asked, by key. */
  readonly requests: Readonly<Record<string, TaskQuestion>>;
  readonly asked: number;
}

export interface TaskQuestion {
  readonly step: string;
  readonly request: InputRequest;
}

export interface EndedTask {
  readonly kind: 'ended';
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** `result` of a task that has completed, `error` of one that has failed: JSON text. */
  readonly outcome?: string;
  /** Why it has not completed. */
  readonly message?: string;
}

/** Whose task it is, and which. */
export interface TaskRef extends WorkflowTaskName {
  readonly caller: Caller;
}

/** A record as it is kept now. */
export interface KeptTask {
  readonly record: TaskRecord;
  /** As it is in the store: what `replace` expects. */
  readonly sealed: Buffer;
}

/** The tasks of all replicas. Everything throws what the store throws. */
export interface TaskRecords {
  /** `part`: as `partOf` has it. Undefined: the record is too large to be kept. */
  readonly create: (
    of: Omit<TaskRef, 'secret'> & { readonly part: number | undefined },
    record: TaskRecord,
  ) => Promise<{ readonly ref: TaskRef; readonly kept: KeptTask } | undefined>;
  /** Undefined: this client has no such task, or no longer. */
  readonly read: (ref: TaskRef) => Promise<KeptTask | undefined>;
  /**
   * Replaces a record unless it has been replaced meanwhile: of concurrent calls, one does. Undefined: it has been, or
   * the new one is too large (`fits`).
   */
  readonly replace: (ref: TaskRef, before: KeptTask, state: TaskState) => Promise<KeptTask | undefined>;
  readonly fits: (record: TaskRecord) => boolean;
}

export interface TaskRecordsDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly entropy: (bytes: number) => Buffer;
}

/** How long the outcome of a task is kept beyond the time of its workflow. */
const KEPT_MS = 10 * 60_000;

const STATE = 'state';

/** MCP Tasks, `ttlMs`: milliseconds from the creation of the task. */
export const ttlMsOf = ({ createdAt, endsAt }: TaskRecord): number => Math.max(0, endsAt - createdAt) + KEPT_MS;

/** Records are sealed with AES-256-GCM, each for one task of one client, whose id does not say where it is kept. */
export const taskRecords = ({ store: whole, clock, entropy }: TaskRecordsDeps): TaskRecords => {
  const store = prefixed(whole, 'workflows:');
  const key = sharedKey(store, entropy);
  const sealedOf = async (ref: TaskRef, record: TaskRecord): Promise<Buffer> =>
    seal(Buffer.from(JSON.stringify(record)), { key: await key(), as: purposeOf(ref) }, entropy);
  return {
    create: async ({ part, ...of }, record) => {
      if (!fits(record)) return undefined;
      const ref = { ...of, secret: entropy(ID_BYTES).toString('base64url') };
      const sealed = await sealedOf(ref, record);
      const group = quotaOf('task', ref.caller, part);
      await store.createMap(placeOfTask(ref), new Map([[STATE, sealed]]), ttlMsOf(record), group);
      return { ref, kept: { record, sealed } };
    },
    read: async (ref) => {
      const sealed = (await store.readMap(placeOfTask(ref)))?.get(STATE);
      const text = sealed && unseal(sealed, { key: await key(), as: purposeOf(ref) });
      if (!sealed || !text) return undefined;
      const record = parsed(text.toString()) as TaskRecord;
      return clock.now() < record.createdAt + ttlMsOf(record) ? { record, sealed } : undefined;
    },
    replace: async (ref, before, state) => {
      const record = { ...before.record, updatedAt: clock.now(), state };
      if (!fits(record)) return undefined;
      const sealed = await sealedOf(ref, record);
      const place = placeOfTask(ref);
      const isReplaced = await store.replaceField(place, STATE, before.sealed, sealed).catch(async (error: unknown) => {
        // The store may have replaced it, and only its answer was lost.
        if ((await store.readMap(place))?.get(STATE)?.equals(sealed)) return true;
        throw error;
      });
      return isReplaced ? { record, sealed } : undefined;
    },
    fits,
  };
};

const fits = (record: TaskRecord): boolean => Buffer.byteLength(JSON.stringify(record)) <= KEPT_BYTES;

/** The key does not hold the secret, so that a reader of the store learns no id of a task. */
const placeOfTask = ({ caller, workflow, secret }: TaskRef): string =>
  placeOf(
    'task',
    caller,
    createHash('sha256')
      .update(JSON.stringify([workflow, secret]))
      .digest('base64url'),
  );

const purposeOf = ({ caller, workflow, secret }: TaskRef): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(['task', clientKey(caller), workflow, secret]))
    .digest();

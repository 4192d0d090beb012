import type { Clock } from '../clock.ts';
import { isObject } from '../json-bytes.ts';
import { memberAt } from '../json-members.ts';
import type { Attention, Fetch } from '../outgoing/index.ts';
import { taskIdOf } from '../task-id.ts';
import { TASK_TOLD } from '../tasks-extension.ts';
import type { TaskEvents } from '../watch-tasks.ts';
import { acceptedIn, namesIn } from './modern-listening.ts';
import { MODERN_HEADERS } from './modern-link.ts';
import { askableMeta } from './request-edits.ts';
import { isAnswerTo, readServerMessage, type ServerMessage } from './server-message.ts';
import { renamedTask } from './task-results.ts';

export interface TaskWatching extends TaskEvents {
  readonly backend: string;
  /** Of the endpoint, with its query. */
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
  /** JSON text: what the client declares of itself. */
  readonly capabilities: Buffer;
  /** JSON texts of the ids, as the backend has them. */
  readonly ownIds: readonly Buffer[];
  readonly clock: Clock;
  /** Nothing is asked of the backend any more. */
  readonly end: AbortSignal;
  readonly fetch: Fetch;
}

/** For the backend to say which tasks it will tell of. */
const ACKNOWLEDGE_MS = 5_000;

const ID = Buffer.from('"vmcp-tasks"');
const HEADERS = [...MODERN_HEADERS, 'mcp-method', 'subscriptions/listen'];

/**
 * Listens for what becomes of tasks at a backend of 2026-07-28 until `signal` aborts. Resolves to the ids, as our clients know them, that
 * the backend will tell of: none when it does not say so in time. A stream that ends is not begun anew, since nobody would know what
 * was not told meanwhile.
 */
export const watchTasks = (watching: TaskWatching): Promise<ReadonlySet<string>> => new TaskWatch(watching).begin();

class TaskWatch {
  readonly #watching: TaskWatching;
  readonly #acknowledged = Promise.withResolvers<ReadonlySet<string>>();
  /** Undefined until the backend has said which. */
  #ids: ReadonlySet<string> | undefined;
  #isGivenUp = false;
  #abort: ((reason: Error) => void) | undefined;

  constructor(watching: TaskWatching) {
    this.#watching = watching;
  }

  begin(): Promise<ReadonlySet<string>> {
    const { clock, path, fetch } = this.#watching;
    const attention: Attention = {
      heard: () => {},
      pause: () => () => {},
      onAbandoned: (abort) => {
        this.#abort = abort;
        if (this.#isGivenUp) this.#giveUp();
      },
    };
    const body = this.#request();
    const timer = clock.after(ACKNOWLEDGE_MS, this.#giveUp);
    for (const signal of this.#signals()) signal.addEventListener('abort', this.#giveUp);
    if (this.#signals().some(({ aborted }) => aborted)) this.#giveUp();
    void this.#acknowledged.promise.then(() => timer.cancel());
    fetch({ method: 'POST', path, headers: HEADERS, body, attention, onMessage: this.#hear, lane: 'stream' }).then(
      this.#ended,
      this.#ended,
    );
    return this.#acknowledged.promise;
  }

  #request(): Buffer {
    const { clientInfo, capabilities, ownIds } = this.#watching;
    const meta = askableMeta(clientInfo, capabilities.toString());
    return Buffer.from(
      `{"jsonrpc":"2.0","id":${ID.toString()},"method":"subscriptions/listen","params":{"_meta":${meta},"notifications":{"taskIds":[${ownIds.join()}]}}}`,
    );
  }

  #signals(): readonly AbortSignal[] {
    return [this.#watching.signal, this.#watching.end];
  }

  readonly #giveUp = (): void => {
    this.#isGivenUp = true;
    // What is said from now on comes too late.
    this.#ids ??= new Set();
    this.#acknowledged.resolve(this.#ids);
    this.#abort?.(new Error('no longer wanted'));
  };

  readonly #ended = (): void => {
    const { signal, onEnd } = this.#watching;
    for (const each of this.#signals()) each.removeEventListener('abort', this.#giveUp);
    this.#acknowledged.resolve(new Set());
    if (this.#ids && this.#ids.size > 0 && !signal.aborted) onEnd();
  };

  readonly #hear = (bytes: Buffer): 'answer' | 'other' => {
    if (isAnswerTo(bytes, ID)) return 'answer';
    const message = readServerMessage(bytes);
    if (message?.kind !== 'notification') return 'other';
    const accepted = acceptedIn(bytes);
    if (accepted) this.#accept(accepted.filter);
    if (message.method === TASK_TOLD) this.#tell(bytes, message);
    return 'other';
  };

  #accept(filter: unknown): void {
    if (this.#ids) return;
    const { backend, ownIds } = this.#watching;
    const asked = new Set(ownIds.map((ownId) => JSON.parse(ownId.toString()) as string));
    const agreed = namesIn(filter, 'taskIds');
    this.#ids = new Set(agreed.flatMap((ownId) => (asked.has(ownId) ? (taskIdOf({ backend, ownId }) ?? []) : [])));
    this.#acknowledged.resolve(this.#ids);
    if (this.#ids.size === 0) this.#giveUp();
  }

  #tell(bytes: Buffer, { params }: Notification): void {
    if (!params || !isObject(bytes, params.start)) return;
    const told = renamedTask(bytes.subarray(params.start, params.end), this.#watching.backend);
    const id = told && memberAt(told, 0, 'taskId');
    if (id && this.#ids?.has(told.toString('latin1', id.start + 1, id.end - 1))) this.#watching.onTold(told);
  }
}

type Notification = Extract<ServerMessage, { kind: 'notification' }>;

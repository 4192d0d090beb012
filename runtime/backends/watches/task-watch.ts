import type { Clock } from '../../process/index.ts';
import { isObject, memberAt } from '../../json/index.ts';
import type { IdleTimeout, Fetch } from '../../outgoing/index.ts';
import { taskIdOf, type TaskEvents } from '../../call/index.ts';
import { TASK_NOTIFICATION } from '../../mcp/index.ts';
import { acceptedIn, namesIn } from '../stateless/listen.ts';
import { MODERN_HEADERS } from '../stateless/stateless-client.ts';
import { askableMeta } from '../messages/request-edits.ts';
import { isAnswerTo, readServerMessage, type ServerMessage } from '../messages/server-message.ts';
import { renamedTask } from '../stateless/task-results.ts';

export interface TaskWatching extends TaskEvents {
  readonly backend: string;
  /** Path and query of the endpoint. */
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: Buffer;
  /** JSON texts of the ids, as the backend has them. */
  readonly ownIds: readonly Buffer[];
  readonly clock: Clock;
  /** Aborted when the backend is retired. */
  readonly end: AbortSignal;
  readonly fetch: Fetch;
}

/** Time for the backend to acknowledge the tasks. */
const ACKNOWLEDGE_MS = 5_000;

const ID = Buffer.from('"vmcp-tasks"');
const HEADERS = [...MODERN_HEADERS, 'mcp-method', 'subscriptions/listen'];

/**
 * Listens for task notifications of a backend of 2026-07-28 until `signal` aborts. Resolves to the acknowledged ids, as
 * our clients know them: none when the backend does not acknowledge in time. A stream that ends is not reopened, since
 * notifications may have been lost.
 */
export const watchTasks = (watching: TaskWatching): Promise<ReadonlySet<string>> => new TaskWatch(watching).begin();

class TaskWatch {
  readonly #watching: TaskWatching;
  readonly #acknowledged = Promise.withResolvers<ReadonlySet<string>>();
  /** The acknowledged ids; undefined until the backend has acknowledged. */
  #ids: ReadonlySet<string> | undefined;
  #isGivenUp = false;
  #abort: ((reason: Error) => void) | undefined;

  constructor(watching: TaskWatching) {
    this.#watching = watching;
  }

  begin(): Promise<ReadonlySet<string>> {
    const { clock, path, fetch } = this.#watching;
    const idleTimeout: IdleTimeout = {
      refresh: () => {},
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
    fetch({ method: 'POST', path, headers: HEADERS, body, idleTimeout, onMessage: this.#receive, lane: 'stream' }).then(
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
    // A later acknowledgement is ignored.
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

  readonly #receive = (bytes: Buffer): 'answer' | 'other' => {
    if (isAnswerTo(bytes, ID)) return 'answer';
    const message = readServerMessage(bytes);
    if (message?.kind !== 'notification') return 'other';
    const accepted = acceptedIn(bytes);
    if (accepted) this.#accept(accepted.filter);
    if (message.method === TASK_NOTIFICATION) this.#forward(bytes, message);
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

  #forward(bytes: Buffer, { params }: Notification): void {
    if (!params || !isObject(bytes, params.start)) return;
    const told = renamedTask(bytes.subarray(params.start, params.end), this.#watching.backend);
    const id = told && memberAt(told, 0, 'taskId');
    if (id && this.#ids?.has(told.toString('latin1', id.start + 1, id.end - 1))) this.#watching.onTold(told);
  }
}

type Notification = Extract<ServerMessage, { kind: 'notification' }>;

import { changedPaths } from './changed-paths.ts';
import type { ApiClient } from '../api/client.ts';
import { observeWrites } from '../api/observe-writes.ts';
import type { Write } from '../api/observe-writes.ts';
import { trim } from '../cache/trim.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';

/** A write that was not made, as the log has it: what would change, and never to which value. */
export interface DryRunWrite {
  readonly verb: Write['verb'];
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource?: string;
  readonly change: 'create' | 'update' | 'delete';
  /** Paths of what an update changes. */
  readonly fields?: readonly string[];
  /** Of an event. */
  readonly reason?: string;
  /** What the API server says instead of taking it. */
  readonly refused?: string;
}

export interface DryRunReporterDeps {
  /** Makes no write (`dryRunClient`). */
  readonly api: ApiClient;
  /** The object as it is. */
  readonly live: (key: ObjectKey) => KubeObject | undefined;
  readonly onWrite: (write: DryRunWrite) => void;
}

/** Reports the writes that reconciles would make: each once, until a reconcile of the same resource does without it. */
export class DryRunReporter {
  readonly #deps: DryRunReporterDeps;
  /** Resource → writes that its last reconcile would have made. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(deps: DryRunReporterDeps) {
    this.#deps = deps;
  }

  /** Runs one reconcile of `subject` with the client it is given. */
  async run<T>(subject: string, work: (api: ApiClient) => Promise<T>): Promise<T> {
    const known = this.#told.get(subject);
    const told = new Set<string>();
    const onWrite = (write: Write): void => {
      const described = this.#describe(write);
      const mark = hashOf([described, isStamped(write) ? null : write.sent], 16);
      if (known?.has(mark) !== true && !told.has(mark)) this.#deps.onWrite(described);
      told.add(mark);
    };
    try {
      const result = await work(observeWrites(this.#deps.api, onWrite));
      this.#remember(subject, told);
      return result;
    } catch (error) {
      // Writes after the error are still due.
      this.#remember(subject, new Set([...told, ...(known ?? [])]));
      throw error;
    }
  }

  #remember(subject: string, told: ReadonlySet<string>): void {
    if (told.size === 0) this.#told.delete(subject);
    else this.#told.set(subject, told);
  }

  #describe({ verb, key, subresource, sent, answer, error }: Write): DryRunWrite {
    const { kind, namespace, name } = key;
    if (kind === 'Event') return { ...eventOf(sent), verb, kind, namespace, change: 'create' };
    const live = this.#deps.live(key);
    const change = verb === 'delete' ? 'delete' : live === undefined ? 'create' : 'update';
    const fields = live && answer && changedPaths(content(live), content(trim(answer)));
    return {
      verb,
      kind,
      namespace,
      name,
      ...(subresource && { subresource }),
      change,
      ...(fields && { fields }),
      ...(error && { refused: error.message }),
    };
  }
}

/** Statuses and events hold the time: of the same ones there are many. */
const isStamped = ({ key, subresource }: Write): boolean => subresource !== undefined || key.kind === 'Event';

/** Its own name is made up. */
const eventOf = (sent: object | undefined): Pick<DryRunWrite, 'name' | 'reason'> => {
  const { regarding, reason } = (sent ?? {}) as { regarding?: { name?: string }; reason?: string };
  return { name: regarding?.name ?? '', ...(reason !== undefined && { reason }) };
};

/** Without what every write changes by itself. */
const content = ({ metadata, ...rest }: KubeObject): object => {
  const { managedFields: _, resourceVersion: __, generation: ___, ...kept } = metadata;
  return { ...rest, metadata: kept };
};

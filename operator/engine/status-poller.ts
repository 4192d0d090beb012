import { isDeepStrictEqual } from 'node:util';
import type { Clock, Timer } from '../../runtime/process/index.ts';
import type { StatusReport } from '../../runtime/status/index.ts';
import { keyText } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { PodReports } from '../plan/server/bundle.ts';
import { memoryBytesOf } from '../cache/memory-bytes.ts';
import { type FetchStatus, InvalidReportError } from './fetch-status.ts';
import { NamespaceQuota } from '../cache/namespace-quota.ts';

export interface StatusPollerDeps {
  /** Pods of the server, in any state. */
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly fetchStatus: FetchStatus;
  readonly clock: Clock;
  /** Called when a pod stops answering, or does not answer its first request. */
  readonly onUnreachable: (pod: KubeObject, error: unknown) => void;
  /** Called when the reports of this server have changed. */
  readonly onChange: (owner: ObjectKey) => void;
}

interface Polling {
  /** A token that the runtime of the resource with this uid accepts. */
  readonly token: (uid: string) => Promise<string>;
  readonly signal: AbortSignal;
}

interface PolledServer {
  readonly key: ObjectKey;
  uid: string;
  everyMs: number;
  /** Delay before the next round; grows from `firstMs` to `everyMs` after each change. */
  delayMs: number;
  timer: Timer | undefined;
  reports: PodReports;
  /** Pods whose reports have quota. */
  readonly held: Set<string>;
}

/** After a change of the pods or their config the next rounds come soon, so that status follows within seconds. */
const firstMs = 500;

/**
 * Shortest interval between two rounds: `statusReportingInterval` of docs/configuration.md "operational" has no lower
 * bound.
 */
const shortestMs = 1000;

/**
 * Bytes in memory, about, of all reports of one namespace: those of sixteen servers over 5,000 backends, with three
 * pods each.
 */
const MAX_NAMESPACE_BYTES = 64 * 1024 * 1024;

/** Polls the status of the pods of every server, at the interval of the server. */
export class StatusPoller {
  readonly #deps: StatusPollerDeps;
  readonly #quota: NamespaceQuota;
  readonly #subjects = new Map<string, PolledServer>();
  #shift: Polling | undefined;

  /**
   * `maxNamespaceBytes`: maximum of all reports of one namespace; a pod whose report exceeds it counts as unreachable.
   */
  constructor(deps: StatusPollerDeps, maxNamespaceBytes = MAX_NAMESPACE_BYTES) {
    this.#deps = deps;
    this.#quota = new NamespaceQuota(maxNamespaceBytes);
  }

  reports(owner: ObjectKey): PodReports {
    return this.#subjects.get(keyText(owner))?.reports ?? new Map();
  }

  /** Every server whose pods are polled. */
  polledServers(): readonly ObjectKey[] {
    return [...this.#subjects.values()].map(({ key }) => key);
  }

  /** Polls until `signal` is aborted. Servers that were added before are polled from then on. */
  start(token: Polling['token'], signal: AbortSignal): void {
    this.#shift = { token, signal };
    for (const subject of this.#subjects.values()) {
      this.#schedule(subject, firstMs);
    }
    signal.addEventListener('abort', () => this.#subjects.forEach((subject) => subject.timer?.cancel()), {
      once: true,
    });
  }

  /** Polls the pods of this server at this interval, 1 s at least. A call with the same interval changes nothing. */
  poll(key: ObjectKey, uid: string, intervalMs: number): void {
    const everyMs = Math.max(shortestMs, intervalMs);
    const known = this.#subjects.get(keyText(key));
    if (known?.uid === uid && known.everyMs === everyMs) {
      return;
    }
    known?.timer?.cancel();
    const subject: PolledServer = {
      key,
      uid,
      everyMs,
      delayMs: firstMs,
      timer: undefined,
      reports: known?.reports ?? new Map(),
      held: known?.held ?? new Set(),
    };
    this.#subjects.set(keyText(key), subject);
    this.#schedule(subject, firstMs);
  }

  forget(key: ObjectKey): void {
    const subject = this.#subjects.get(keyText(key));
    if (subject === undefined) return;
    subject.timer?.cancel();
    this.#subjects.delete(keyText(key));
    for (const pod of subject.held) this.#free(subject, pod);
  }

  /** The pods have changed: poll them soon. */
  pollSoon(key: ObjectKey): void {
    const subject = this.#subjects.get(keyText(key));
    if (subject !== undefined && subject.delayMs > firstMs) {
      this.#schedule(subject, firstMs);
    }
  }

  #schedule(subject: PolledServer, delayMs: number): void {
    subject.timer?.cancel();
    Object.assign(subject, { delayMs });
    const shift = this.#shift;
    if (shift !== undefined && !shift.signal.aborted) {
      Object.assign(subject, { timer: this.#deps.clock.after(delayMs, () => void this.#round(subject, shift)) });
    }
  }

  async #round(subject: PolledServer, shift: Polling): Promise<void> {
    const asked = subject.delayMs;
    const reports = await this.#askAll(subject, shift);
    if (shift.signal.aborted || !this.#isPolled(subject)) {
      return;
    }
    for (const pod of subject.held) if (typeof reports.get(pod) !== 'object') this.#free(subject, pod);
    const isChanged =
      reports.size !== subject.reports.size || [...reports].some(([pod, said]) => said !== subject.reports.get(pod));
    Object.assign(subject, { reports });
    if (isChanged) {
      this.#deps.onChange(subject.key);
    }
    this.#schedule(subject, Math.min(subject.everyMs, subject.delayMs < asked ? firstMs : asked * 2));
  }

  async #askAll(subject: PolledServer, shift: Polling): Promise<PodReports> {
    const running = this.#deps.podsOf(subject.key).filter((pod) => addressOf(pod) !== undefined);
    const answers = running.map(async (pod): Promise<readonly [string, StatusReport | 'unreachable']> => {
      try {
        return [pod.metadata.name, await this.#ask(subject, pod, shift)];
      } catch (error) {
        if (subject.reports.get(pod.metadata.name) !== 'unreachable' && !shift.signal.aborted) {
          this.#deps.onUnreachable(pod, error);
        }
        return [pod.metadata.name, 'unreachable'];
      }
    });
    return new Map(await Promise.all(answers));
  }

  /** An unchanged report is the same object as before. */
  async #ask(subject: PolledServer, pod: KubeObject, { token, signal }: Polling): Promise<StatusReport> {
    const { key, uid, reports } = subject;
    const { name } = pod.metadata;
    const asked = { namespace: key.namespace, podIP: addressOf(pod) ?? '', token: await token(uid) };
    const report = await this.#deps.fetchStatus(asked, signal);
    const before = reports.get(name);
    const isAsBefore = before !== undefined && before !== 'unreachable' && isDeepStrictEqual(report, before);
    const kept = isAsBefore ? before : report;
    if (this.#isPolled(subject) && !(isAsBefore && subject.held.has(name))) this.#hold(subject, name, kept);
    return kept;
  }

  /** The server may have been forgotten meanwhile, or be polled anew. */
  #isPolled(subject: PolledServer): boolean {
    return this.#subjects.get(keyText(subject.key)) === subject;
  }

  #hold(subject: PolledServer, pod: string, report: StatusReport): void {
    subject.held.add(pod);
    if (this.#quota.tryReserve(subject.key.namespace, placeOf(subject, pod), memoryBytesOf(report))) return;
    this.#free(subject, pod);
    throw new InvalidReportError('the reports of its namespace take too much memory together');
  }

  #free(subject: PolledServer, pod: string): void {
    subject.held.delete(pod);
    this.#quota.release(subject.key.namespace, placeOf(subject, pod));
  }
}

const placeOf = ({ key }: PolledServer, pod: string): string => `${keyText(key)}/${pod}`;

/** The address of a pod whose container runs and that is not on its way out. */
const addressOf = (pod: KubeObject): string | undefined => {
  const status = (pod['status'] ?? {}) as { readonly phase?: string; readonly podIP?: string };
  return status.phase === 'Running' && pod.metadata.deletionTimestamp === undefined ? status.podIP : undefined;
};

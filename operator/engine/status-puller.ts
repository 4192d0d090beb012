import { isDeepStrictEqual } from 'node:util';
import type { Clock, Timer } from '../../runtime/process/index.ts';
import type { StatusReport } from '../../runtime/status/index.ts';
import { keyText } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { PodReports } from '../plan/server/bundle.ts';
import { weightOf } from '../cache/weight.ts';
import { type AskStatus, NoReport } from './ask-status.ts';
import { NamespaceRoom } from './namespace-room.ts';

export interface PullerDeps {
  /** Pods of the server, in any state. */
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly ask: AskStatus;
  readonly clock: Clock;
  /** This pod, which had said something or was not asked before, cannot be taken to say anything now. */
  readonly onSilence: (pod: KubeObject, error: unknown) => void;
  /** The reports of this server are not what they were. */
  readonly onChange: (owner: ObjectKey) => void;
}

interface Shift {
  /** A token that the runtime of the resource with this uid accepts. */
  readonly token: (uid: string) => Promise<string>;
  readonly signal: AbortSignal;
}

interface Subject {
  readonly key: ObjectKey;
  uid: string;
  everyMs: number;
  /** Delay before the next round; grows from `firstMs` to `everyMs` after each change. */
  delayMs: number;
  timer: Timer | undefined;
  reports: PodReports;
  /** Pods whose reports have room. */
  readonly held: Set<string>;
}

/** After a change of the pods or their config the next rounds come soon, so that status follows within seconds. */
const firstMs = 500;

/**
 * However often a server wants to be asked (`statusReportingInterval` of docs/configuration.md "operational" has no
 * lower bound), this is the rest between two rounds.
 */
const shortestMs = 1000;

/**
 * Bytes in memory, about, of all reports of one namespace: those of sixteen servers over 5,000 backends, with three
 * pods each.
 */
const MOST_TOGETHER = 64 * 1024 * 1024;

/** Asks the pods of every server for their status, at the interval of the server. */
export class StatusPuller {
  readonly #deps: PullerDeps;
  readonly #room: NamespaceRoom;
  readonly #subjects = new Map<string, Subject>();
  #shift: Shift | undefined;

  /**
   * `mostTogether`: bytes of all reports of one namespace; a pod whose report is beyond that counts as one that does
   * not answer.
   */
  constructor(deps: PullerDeps, mostTogether = MOST_TOGETHER) {
    this.#deps = deps;
    this.#room = new NamespaceRoom(mostTogether);
  }

  reports(owner: ObjectKey): PodReports {
    return this.#subjects.get(keyText(owner))?.reports ?? new Map();
  }

  /** Every server whose pods are asked. */
  followed(): readonly ObjectKey[] {
    return [...this.#subjects.values()].map(({ key }) => key);
  }

  /** Pulls until `signal` is aborted. Before that, servers are only noted. */
  start(token: Shift['token'], signal: AbortSignal): void {
    this.#shift = { token, signal };
    for (const subject of this.#subjects.values()) {
      this.#again(subject, firstMs);
    }
    signal.addEventListener('abort', () => this.#subjects.forEach((subject) => subject.timer?.cancel()), {
      once: true,
    });
  }

  /**
   * From now on ask the pods of this server at this interval, 1 s at least. Repeating it with the same one changes
   * nothing.
   */
  follow(key: ObjectKey, uid: string, intervalMs: number): void {
    const everyMs = Math.max(shortestMs, intervalMs);
    const known = this.#subjects.get(keyText(key));
    if (known?.uid === uid && known.everyMs === everyMs) {
      return;
    }
    known?.timer?.cancel();
    const subject: Subject = {
      key,
      uid,
      everyMs,
      delayMs: firstMs,
      timer: undefined,
      reports: known?.reports ?? new Map(),
      held: known?.held ?? new Set(),
    };
    this.#subjects.set(keyText(key), subject);
    this.#again(subject, firstMs);
  }

  forget(key: ObjectKey): void {
    const subject = this.#subjects.get(keyText(key));
    if (subject === undefined) return;
    subject.timer?.cancel();
    this.#subjects.delete(keyText(key));
    for (const pod of subject.held) this.#free(subject, pod);
  }

  /** Something about the pods changed: ask soon. */
  poke(key: ObjectKey): void {
    const subject = this.#subjects.get(keyText(key));
    if (subject !== undefined && subject.delayMs > firstMs) {
      this.#again(subject, firstMs);
    }
  }

  #again(subject: Subject, delayMs: number): void {
    subject.timer?.cancel();
    Object.assign(subject, { delayMs });
    const shift = this.#shift;
    if (shift !== undefined && !shift.signal.aborted) {
      Object.assign(subject, { timer: this.#deps.clock.after(delayMs, () => void this.#round(subject, shift)) });
    }
  }

  async #round(subject: Subject, shift: Shift): Promise<void> {
    const asked = subject.delayMs;
    const reports = await this.#askAll(subject, shift);
    if (shift.signal.aborted || !this.#isFollowed(subject)) {
      return;
    }
    for (const pod of subject.held) if (typeof reports.get(pod) !== 'object') this.#free(subject, pod);
    const isChanged =
      reports.size !== subject.reports.size || [...reports].some(([pod, said]) => said !== subject.reports.get(pod));
    Object.assign(subject, { reports });
    if (isChanged) {
      this.#deps.onChange(subject.key);
    }
    this.#again(subject, Math.min(subject.everyMs, subject.delayMs < asked ? firstMs : asked * 2));
  }

  async #askAll(subject: Subject, shift: Shift): Promise<PodReports> {
    const running = this.#deps.podsOf(subject.key).filter((pod) => addressOf(pod) !== undefined);
    const answers = running.map(async (pod): Promise<readonly [string, StatusReport | 'unreachable']> => {
      try {
        return [pod.metadata.name, await this.#ask(subject, pod, shift)];
      } catch (error) {
        if (subject.reports.get(pod.metadata.name) !== 'unreachable' && !shift.signal.aborted) {
          this.#deps.onSilence(pod, error);
        }
        return [pod.metadata.name, 'unreachable'];
      }
    });
    return new Map(await Promise.all(answers));
  }

  /** What is as it was before is the same object as before. */
  async #ask(subject: Subject, pod: KubeObject, { token, signal }: Shift): Promise<StatusReport> {
    const { key, uid, reports } = subject;
    const { name } = pod.metadata;
    const asked = { namespace: key.namespace, podIP: addressOf(pod) ?? '', token: await token(uid) };
    const report = await this.#deps.ask(asked, signal);
    const before = reports.get(name);
    const isAsBefore = before !== undefined && before !== 'unreachable' && isDeepStrictEqual(report, before);
    const kept = isAsBefore ? before : report;
    if (this.#isFollowed(subject) && !(isAsBefore && subject.held.has(name))) this.#hold(subject, name, kept);
    return kept;
  }

  /** Meanwhile it may have been forgotten, or followed anew. */
  #isFollowed(subject: Subject): boolean {
    return this.#subjects.get(keyText(subject.key)) === subject;
  }

  #hold(subject: Subject, pod: string, report: StatusReport): void {
    subject.held.add(pod);
    if (this.#room.take(subject.key.namespace, placeOf(subject, pod), weightOf(report))) return;
    this.#free(subject, pod);
    throw new NoReport('the reports of its namespace take too much memory together');
  }

  #free(subject: Subject, pod: string): void {
    subject.held.delete(pod);
    this.#room.free(subject.key.namespace, placeOf(subject, pod));
  }
}

const placeOf = ({ key }: Subject, pod: string): string => `${keyText(key)}/${pod}`;

/** The address of a pod whose container runs and that is not on its way out. */
const addressOf = (pod: KubeObject): string | undefined => {
  const status = (pod['status'] ?? {}) as { readonly phase?: string; readonly podIP?: string };
  return status.phase === 'Running' && pod.metadata.deletionTimestamp === undefined ? status.podIP : undefined;
};

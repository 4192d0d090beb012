import type { Clock } from '../../runtime/process/index.ts';
import type { ReconciledKind } from '../kinds/kind.ts';
import type { KubeObject } from '../object.ts';
import { DEGRADING, type Plan } from '../plan/plan.ts';
import type { Settings } from '../plan/settings.ts';
import { planOfUnplanned } from '../plan/unplanned.ts';
import { isForThread, isTooLarge, sizeOf, TOO_LARGE_TEXT } from '../threads/size.ts';
import { yieldsToEventLoop } from '../threads/pause.ts';
import { TooCostlyError, type WorkThread } from '../threads/work-thread.ts';

/** What a plan is made of. */
export interface Planning {
  readonly kind: ReconciledKind;
  readonly owner: KubeObject;
  readonly bundle: unknown;
  readonly settings: Settings;
  /** The keys of `settings.mac`, newest first. */
  readonly macKeys: readonly Uint8Array[];
}

/** What a plan is made of, without what cannot be copied to another thread. */
export interface PlanInput {
  readonly kind: string;
  readonly bundle: unknown;
  readonly settings: Omit<Settings, 'mac'>;
  /** The keys of `Settings.mac`, newest first; absent where there are none. */
  readonly macKeys: readonly Uint8Array[] | undefined;
  /** Cedar is loaded before the time counts. */
  readonly hasPolicies: boolean;
}

/** Rejects when the signal is aborted and the plan is not there yet. */
export type MakePlan = (planning: Planning, signal?: AbortSignal) => Promise<Plan>;

/** In this thread, for those who are alone in it. */
export const planHere: MakePlan = ({ kind, bundle, settings }) => Promise.resolve(kind.plan(bundle, settings));

/** Values and characters that are planned without blocking the thread noticeably. */
const LARGE = 50_000;
/** Once it was too costly it is planned again when so long has passed, and its spec has changed … */
const REST_MS = 30_000;
/** … or when the cluster may be another one, which costs less. */
const AGAIN_MS = 600_000;
const MAX_REMEMBERED = 1_000;

interface Known {
  readonly generation: unknown;
  /** When it was found out, in clock time. */
  readonly at: number;
  readonly why: string;
}

/**
 * What is large or has policies in another thread, the rest in this one, where it takes no time. What is too costly is
 * not tried again at once.
 */
export class Planner {
  readonly #thread: Pick<WorkThread, 'run'>;
  readonly #clock: Clock;
  readonly #large: number;
  readonly #pause = yieldsToEventLoop();
  /** By uid of the owner. */
  readonly #tooCostly = new Map<string, Known>();

  /** What has more values and characters than `large`, or policies, is planned in `thread`. */
  constructor(thread: Pick<WorkThread, 'run'>, clock: Clock, large = LARGE) {
    this.#thread = thread;
    this.#clock = clock;
    this.#large = large;
  }

  readonly plan: MakePlan = async (planning, signal) => {
    const { kind, owner, bundle, settings, macKeys } = planning;
    if (kind.isPlannedInline === true) return planHere(planning);
    const size = await sizeOf(bundle, this.#pause);
    if (!isForThread(size, this.#large)) return planHere(planning);
    if (isTooLarge(size)) return planOfTooCostly(planning, TOO_LARGE_TEXT, AGAIN_MS);
    const { uid = '', namespace = '' } = owner.metadata;
    const known = this.#tooCostly.get(uid);
    const restMs = known === undefined ? 0 : this.#restMs(known, owner);
    if (known !== undefined && restMs > 0) return planOfTooCostly(planning, known.why, restMs);
    this.#tooCostly.delete(uid);
    const { mac, ...copied } = settings;
    const input: PlanInput = {
      kind: kind.kind,
      bundle,
      settings: copied,
      macKeys: mac && macKeys,
      hasPolicies: size.hasPolicies,
    };
    try {
      return (await this.#thread.run('plan', input, namespace, signal)) as Plan;
    } catch (error) {
      if (!(error instanceof TooCostlyError)) throw error;
      this.#remember(owner, error.message);
      return planOfTooCostly(planning, error.message, AGAIN_MS);
    }
  };

  #restMs({ generation, at }: Known, { metadata }: KubeObject): number {
    return at + (metadata.generation === generation ? AGAIN_MS : REST_MS) - this.#clock.now();
  }

  #remember({ metadata: { uid = '', generation } }: KubeObject, why: string): void {
    const [oldest] = this.#tooCostly.keys();
    if (this.#tooCostly.size >= MAX_REMEMBERED && oldest !== undefined) this.#tooCostly.delete(oldest);
    this.#tooCostly.set(uid, { generation, at: this.#clock.now(), why });
  }
}

const planOfTooCostly = ({ kind, owner }: Planning, why: string, requeueAfterMs: number): Plan =>
  planOfUnplanned(owner, {
    type: 'Valid',
    reason: 'TooCostly',
    message: `planning it ${why}; make it, or what it names and the members of its group, smaller, or split it into several objects`,
    phases: kind.phasesWithProblems ?? DEGRADING,
    requeueAfterMs,
  });

import type {
  AuthServerReport,
  BackendReport,
  BackendStatus,
  CircuitState,
  CollisionReport,
  IncompleteReport,
  MismatchedReport,
  SessionStoreReport,
  StatusReport,
  UnmatchedReport,
  UnresolvedReport,
  UnusualReport,
} from '../../../../runtime/status/index.ts';
import type { PodReports } from '../bundle.ts';
import { statusReportSchema } from './status-report-schema.ts';

/** What the pods of one server say together. */
export interface MergedReports {
  /** Pods that answered. */
  readonly reachable: number;
  /** Names of pods that were asked in vain. */
  readonly unreachable: readonly string[];
  readonly backends: ReadonlyMap<string, BackendReport>;
  /** The largest count: a replica that is still connecting knows fewer. */
  readonly toolCount: number;
  readonly collisions: readonly CollisionReport[];
  /** Collisions of the replica that has most, those that are not named included. */
  readonly collisionCount: number;
  readonly unresolved: readonly UnresolvedReport[];
  readonly unmatched: readonly UnmatchedReport[];
  readonly unusual: readonly UnusualReport[];
  readonly incomplete: readonly IncompleteReport[];
  readonly mismatched: readonly MismatchedReport[];
  /** Why pods do not serve the newest config, by pod name. */
  readonly refused: ReadonlyMap<string, readonly string[]>;
  /** Stores that are not `up`, by name of the pod that says so. */
  readonly storeTroubles: ReadonlyMap<string, SessionStoreReport>;
  /** Authorization servers that are not `up`, by name of the pod that says so. */
  readonly authServerTroubles: ReadonlyMap<string, AuthServerReport>;
}

/**
 * The rule: a backend is what every replica that knows it says it is. Where they differ it is `degraded` if some can
 * reach it and some cannot, `unauthenticated` if all can reach it and one only without a login, else the worst of the
 * views.
 */
export const mergeReports = (reports: PodReports): MergedReports => {
  const asked = [...reports].sort(([a], [b]) => (a < b ? -1 : 1));
  const answered = asked.flatMap(([pod, said]) => {
    const report = reportOf(said);
    return report === undefined ? [] : [{ pod, report }];
  });
  const told = new Set(answered.map(({ pod }) => pod));
  const views = answered.map(({ report }) => report);
  return {
    reachable: answered.length,
    unreachable: asked.map(([pod]) => pod).filter((pod) => !told.has(pod)),
    backends: mergeBackends(views),
    toolCount: Math.max(0, ...views.map(({ toolCount }) => toolCount)),
    collisions: merged(views, ({ collisions }) => collisions),
    collisionCount: Math.max(0, ...views.map(({ collisions, collisionCount }) => collisionCount ?? collisions.length)),
    unresolved: merged(views, ({ unresolved }) => unresolved ?? []),
    unmatched: merged(views, ({ unmatched }) => unmatched ?? []),
    unusual: merged(views, ({ unusual }) => unusual ?? []),
    incomplete: merged(views, ({ incomplete }) => incomplete ?? []),
    mismatched: merged(views, ({ mismatched }) => mismatched ?? []),
    refused: new Map(
      answered.flatMap(({ pod, report }) =>
        report.config.refused === undefined ? [] : [[pod, report.config.refused]],
      ),
    ),
    storeTroubles: notUp(answered, ({ sessionStore }) => sessionStore),
    authServerTroubles: notUp(answered, ({ authServer }) => authServer),
  };
};

/** What pods say of a part that is not `up`, by their names. */
const notUp = <T extends { readonly state: string }>(
  answered: readonly { readonly pod: string; readonly report: StatusReport }[],
  partOf: (report: StatusReport) => T | undefined,
): ReadonlyMap<string, T> =>
  new Map(
    answered.flatMap(({ pod, report }) => {
      const part = partOf(report);
      return part === undefined || part.state === 'up' ? [] : [[pod, part]];
    }),
  );

/** Reports are checked when they are fetched; an invalid one must not fail a plan all the same. */
const reportOf = (said: StatusReport | 'unreachable'): StatusReport | undefined =>
  said === 'unreachable' ? undefined : statusReportSchema.safeParse(said).data;

const mergeBackends = (views: readonly StatusReport[]): ReadonlyMap<string, BackendReport> => {
  const byName = new Map<string, BackendReport[]>();
  for (const backend of views.flatMap(({ backends }) => backends)) {
    byName.set(backend.name, [...(byName.get(backend.name) ?? []), backend]);
  }
  return new Map([...byName].map(([name, each]) => [name, mergeBackend(each)]));
};

/** Worst first. */
const BY_SEVERITY: readonly BackendStatus[] = ['unavailable', 'degraded', 'unauthenticated', 'ready', 'unknown'];

/** docs/decisions.md "Routable backends" */
export const isRoutable = (status: BackendStatus): boolean => status === 'ready' || status === 'unauthenticated';

const mergeBackend = (views: readonly BackendReport[]): BackendReport => {
  const known = views.filter(({ status }) => status !== 'unknown');
  const worstFirst = [...(known.length === 0 ? views : known)].sort(
    (a, b) => BY_SEVERITY.indexOf(a.status) - BY_SEVERITY.indexOf(b.status),
  );
  const [worst = NO_REPORT] = worstFirst;
  const routing = worstFirst.filter(({ status }) => isRoutable(status)).length;
  const disagree = routing > 0 && routing < worstFirst.length;
  const { message: said } = worst;
  const message = disagree
    ? `${worstFirst.length - routing} of ${worstFirst.length} replicas: ${said ?? worst.status}`
    : said;
  const lastHealthCheck = latest(views.map((view) => view.lastHealthCheck));
  return {
    name: worst.name,
    status: disagree ? 'degraded' : worst.status,
    consecutiveFailures: Math.max(...views.map((view) => view.consecutiveFailures)),
    toolCount: Math.max(...views.map((view) => view.toolCount)),
    ...(message !== undefined && { message }),
    ...(lastHealthCheck !== undefined && { lastHealthCheck }),
    ...mergeCircuits(views),
  };
};

/** Worst first. */
const CIRCUIT_STATES: readonly CircuitState[] = ['open', 'half-open', 'closed'];

/** The worst state that a replica tells, and when the last of those in it came to it. */
const mergeCircuits = (
  views: readonly BackendReport[],
): Pick<BackendReport, 'circuitBreakerState' | 'circuitLastChanged'> => {
  const worst = CIRCUIT_STATES.find((state) => views.some((view) => view.circuitBreakerState === state));
  if (worst === undefined) return {};
  const changed = latest(
    views.filter((view) => view.circuitBreakerState === worst).map((view) => view.circuitLastChanged),
  );
  return { circuitBreakerState: worst, ...(changed !== undefined && { circuitLastChanged: changed }) };
};

const latest = (times: readonly (string | undefined)[]): string | undefined =>
  times
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);

const NO_REPORT: BackendReport = { name: '', status: 'unknown', consecutiveFailures: 0, toolCount: 0 };

/** What any of them says, each once. */
const merged = <T>(views: readonly StatusReport[], listOf: (view: StatusReport) => readonly T[]): readonly T[] => {
  const byText = new Map(views.flatMap(listOf).map((each) => [JSON.stringify(each), each]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
};

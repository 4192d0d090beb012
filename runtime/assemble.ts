import { admission } from './admission.ts';
import { type Caller, innerCalls } from './call/index.ts';
import { BackendSet, type UserBackendSessions } from './backends/index.ts';
import { ByteBudget, type Clock, secretReader } from './process/index.ts';
import { liveCatalogOf, publishChanges, userListsOf } from './catalog-parts.ts';
import { type Clients, clientsOf, tellOfLists } from './clients.ts';
import { type Config, type ConfigFile, warningsOf, liveConfig, type LiveConfig } from './config/index.ts';
import {
  accessOf,
  hostRulesOf,
  levelOf,
  logFieldsOf,
  sessionStoreSettingsOf,
  wantedBackendsOf,
} from './config-slices.ts';
import {
  type Endpoint,
  type EndpointDeps,
  type HeldCalls,
  hostCheck,
  managementServer,
  mcpEndpoint,
  type PublicParts,
  publicServer,
  type PublicServerDeps,
} from './edge/index.ts';
import { endAccess } from './end-access.ts';
import { circuitsSeen, countedReloads, failuresSeen } from './counted.ts';
import { type ExplainParts, explainRequests } from './explain-requests.ts';
import { featureDepsOf } from './feature-deps.ts';
import type { FeatureDeps, Features, MakeFeatures } from './features.ts';
import { FURTHER_CHECKS } from './further-checks.ts';
import { CurrentCallers, rememberCallers } from './gate/index.ts';
import { LIMITS } from './limits.ts';
import { metricsRoutes } from './metrics-route.ts';
import { createMetrics, type Log, observersTogether, openTelemetry, type Telemetry } from './observe/index.ts';
import type { OpenedSessions } from './open-sessions.ts';
import { strategiesBy } from './outgoing-strategies.ts';
import { pipeline } from './pipeline.ts';
import { revokeRequests } from './revoke-requests.ts';
import { readmitOnReload, watchRights } from './readmission.ts';
import { statusReport } from './self-description.ts';
import { stateReadersOf } from './state-readers.ts';
import { stagesOf } from './stages.ts';
import type { StatusReport } from './status/index.ts';
import { openStore } from './store/index.ts';
import { telemetrySettingsOf } from './telemetry-settings.ts';
import { VERSION } from './version.ts';

export interface AssembleOptions {
  readonly files: readonly ConfigFile[];
  readonly makeFeatures: MakeFeatures;
}

export interface AssembleDeps {
  readonly clock: Clock;
  /** Milliseconds since some moment, for durations. */
  readonly steadyNow: () => number;
  readonly random: () => number;
  /** An unguessable session id. */
  readonly newSessionId: () => string;
  /** 16 to 32 lower-case letters and digits, at random. */
  readonly newReplicaId: () => string;
  readonly newCorrelationId: () => string;
  readonly readFile: (path: string) => Promise<string>;
  /** Undefined: there is no such file. */
  readonly readBytes: FeatureDeps['readBytes'];
  /** Random bytes that nobody can guess. */
  readonly entropy: FeatureDeps['entropy'];
  /** The value of a variable of the environment. */
  readonly environment: (name: string) => string | undefined;
  readonly machine: FeatureDeps['machine'];
  /** Made once the configuration is known, unless the caller has one. */
  readonly logFor: (config: Config) => Log;
}

/** All parts of one runtime, joined, with nothing listening yet. */
export interface Parts {
  readonly config: LiveConfig;
  readonly log: Log;
  readonly backends: BackendSet;
  /** Closes what all rooms share, after the rooms: what features have opened, then the store. */
  readonly closeShared: () => Promise<void>;
  readonly sessions: OpenedSessions['sessions'];
  readonly callers: UserBackendSessions;
  readonly heldCalls: HeldCalls;
  readonly endpoint: Endpoint;
  /** Resolves once nothing goes on of calls that are answered. */
  readonly tasksIdle: () => Promise<void>;
  readonly publicApp: ReturnType<typeof publicServer>;
  readonly managementApp: ReturnType<typeof managementServer>;
  readonly status: () => StatusReport;
  /** The phase of the process; changed by start and stop. */
  readonly phase: Phase;
}

interface Phase {
  isReady: boolean;
  /** docs/decisions.md "Management port": the store of the sessions has answered once. */
  hasSessions: boolean;
  /** So has all that features wait for. */
  hasFeatures: boolean;
  /** The process was told to stop, and still serves all requests. */
  isLeaving: boolean;
  isStopping: boolean;
}

/** `clientInfo` that backends get. */
const CLIENT = { name: 'vmcp', version: VERSION };

/**
 * Joins the rooms, each with those before it. Throws InvalidConfigError, and what a feature that cannot be made throws.
 */
export const assemble = async ({ files, makeFeatures }: AssembleOptions, deps: AssembleDeps): Promise<Parts> => {
  const config = liveConfig(files, FURTHER_CHECKS.problems);
  const log = deps.logFor(config.current());
  const readSecret = secretReader(deps);
  const store = openStore(sessionStoreSettingsOf(config.current()), { ...deps, log, readSecret });
  const metrics = createMetrics();
  const replicaId = deps.newReplicaId();
  const featureDeps = featureDepsOf({ ...deps, replicaId, config, log, meter: metrics.meter, readSecret, store });
  const closeShared = async (): Promise<void> => {
    await featureDeps.close();
    await store.close();
  };
  try {
    const { environment } = deps;
    const facts = { version: VERSION, instanceId: replicaId, environment };
    const settings = telemetrySettingsOf(config.current(), facts);
    const telemetry = await openTelemetry(metrics, settings, featureDeps);
    const features = await makeFeatures(featureDeps);
    await features.start?.();
    const parts = joined({ ...featureDeps, telemetry }, features, deps);
    void Promise.resolve(features.ready).then(() => (parts.phase.hasFeatures = true));
    return { ...parts, closeShared };
  } catch (error) {
    await closeShared();
    throw error;
  }
};

interface JoinedDeps extends FeatureDeps {
  readonly telemetry: Telemetry;
}

const joined = (featureDeps: JoinedDeps, features: Features, deps: AssembleDeps): Omit<Parts, 'closeShared'> => {
  const { log, store, clock, telemetry } = featureDeps;
  const config = countedReloads(featureDeps.config, telemetry.events);
  const phase: Phase = { isReady: false, hasSessions: false, hasFeatures: false, isLeaving: false, isStopping: false };
  const { onFailure, onCut } = failuresSeen(log, clock, telemetry.events);
  const { gate, ownTools, signIns } = features;
  const observers = observersTogether([...telemetry.observers, ...features.observers]);
  const { onOutsideAnswer, onDecided } = observers;
  const users = new CurrentCallers({ now: clock.now, limit: LIMITS.sessions });
  const authenticate = rememberCallers(users, gate, clock);
  const { answers, bodies } = byteBudgets();
  const backends = new BackendSet({
    ...deps,
    clientInfo: CLIENT,
    limits: LIMITS.backend,
    answers,
    connectStrategy: strategiesBy(features.connectStrategy, featureDeps),
    currentCaller: users.current,
    events: circuitsSeen(log, telemetry.events),
  });
  const userLists = userListsOf(backends, clock);
  const liveCatalog = liveCatalogOf({ config, backends, gate, ownTools, userLists });
  const ownRoutes = metricsRoutes(config.current(), telemetry.exposition, clock);
  const routes = [...features.routes({ authenticate, offeredTo: liveCatalog.offeredTo }), ...ownRoutes];
  const parts = { config, backends, liveCatalog, gate, ownTools, observers, clock, signIns };
  publishChanges({ ...parts, log });
  ownTools.builtin?.follow?.(liveCatalog);
  const admitted = admission({ lookUp: liveCatalog.lookUp, authorize: gate.authorize, limit: gate.limit });
  const rights = watchRights({ admitted, gate, log, onDecided });
  const current = (caller: Caller): Caller | undefined => users.valid(caller);
  const onSessionsReady = (): void => void (phase.hasSessions = true);
  const sessionParts = { store, current, isEnded: endedBy(features), onSessionsReady };
  const clients = clientsOf({ config, backends, log, rights, ...sessionParts }, deps);
  tellOfLists(liveCatalog, clients);
  const stages = { ...parts, authenticate, admitted, clients, onFailure, phase };
  const inner = { innerCall: innerCalls(deps.newCorrelationId), currentCaller: users.current };
  const handle = pipeline(stagesOf({ ...stages, ...inner }));
  const edge = { config, handle, answers, bodies, clients, onFailure, onOutsideAnswer, onCut, phase };
  const endpoint = endpointOf(edge, deps);
  const status = (): StatusReport => {
    const own = { sessionStore: clients.storeReport(), authServer: features.authServerReport?.() };
    return statusReport(config, backends, liveCatalog.catalog(), own);
  };
  telemetry.show(stateReadersOf({ ...clients, status, backends, bodies, answers, userLists }));
  serveByConfig({ config, backends, log });
  features.revocation?.onRevoked(endAccess({ clients, clock, onDecided }));
  readmitOnReload({ config, gate, users, clients, onDecided, log, clock });
  return {
    config,
    log,
    backends,
    ...clients,
    endpoint,
    tasksIdle: async () => features.tasksIdle?.(),
    publicApp: publicAppOf({ endpoint, routes }, { ...deps, onFailure, onOutsideAnswer, phase }),
    managementApp: managementOf({ ...parts, ...features, log, phase, status, metrics: telemetry.exposition }, clock),
    status,
    phase,
  };
};

/** Whether the access of a caller was ended since a moment. */
const endedBy =
  ({ revocation }: Features) =>
  (caller: Caller, sinceMs: number): boolean =>
    caller.kind === 'user' && revocation?.isRevoked(caller, sinceMs) === true;

/** The bytes of all answers, and of all requests, that are in memory at a time. */
const byteBudgets = () => ({
  answers: new ByteBudget(LIMITS.responseBytesTogether),
  bodies: new ByteBudget(LIMITS.bodyBytesTogether),
});

/** Applies the configuration to the backends, now and after every reload. */
const serveByConfig = ({ config, backends, log }: Pick<Parts, 'config' | 'backends' | 'log'>): void => {
  warnOf(log, config.current());
  config.onReload((newer) => {
    const { change: changeBackends, giveUp } = backends.prepare(wantedBackendsOf(newer));
    const change = (): void => {
      log.setLevel(levelOf(newer));
      log.setFields(logFieldsOf(newer));
      changeBackends();
      warnOf(log, newer);
      log.info({ hash: config.hash() }, 'configuration reloaded');
    };
    return { change, giveUp };
  });
  backends.prepare(wantedBackendsOf(config.current())).change();
};

const warnOf = (log: Log, config: Config): void => {
  for (const problem of [...warningsOf(config), ...FURTHER_CHECKS.warnings(config)])
    log.warn({ problem }, 'questionable configuration');
};

interface PublicAppDeps extends Omit<PublicServerDeps, 'now' | 'isLeaving'> {
  readonly clock: Clock;
  readonly phase: Phase;
}

const publicAppOf = (parts: PublicParts, { clock, phase, ...deps }: PublicAppDeps) =>
  publicServer(parts, LIMITS, { ...deps, now: clock.now, isLeaving: () => phase.isLeaving });

type GivenToEndpoint = 'handle' | 'answers' | 'bodies' | 'onFailure' | 'onOutsideAnswer' | 'onCut';

interface EndpointParts extends Pick<EndpointDeps, GivenToEndpoint> {
  readonly config: LiveConfig;
  readonly clients: Clients;
  readonly phase: Phase;
}

const endpointOf = ({ config, clients, phase, ...parts }: EndpointParts, deps: AssembleDeps): Endpoint =>
  mcpEndpoint({
    ...parts,
    hosts: config.live(hostRulesOf, hostCheck),
    clock: deps.clock,
    newCorrelationId: deps.newCorrelationId,
    isStopping: () => phase.isStopping,
    bounds: LIMITS,
    connections: clients.connections,
    isSessionKnown: (id, caller) => clients.sessions.isKnown(id, caller),
  });

type ManagementParts = Pick<Parts, 'phase' | 'status'> &
  Pick<Features, 'executions' | 'revocation' | 'record'> &
  ExplainParts & { readonly log: Log; readonly metrics: Telemetry['exposition'] };

const managementOf = ({ phase, status, metrics, ...parts }: ManagementParts, clock: Clock) =>
  managementServer({
    metrics,
    isReady: () => phase.isReady && phase.hasSessions && phase.hasFeatures,
    status,
    workflows: () => ({ executions: parts.executions?.newestFirst() ?? [] }),
    access: () => accessOf(parts.config.current()),
    explain: explainRequests(parts, clock),
    revokeUser: revokeRequests({ revocation: undefined, ...parts, config: parts.config.current }),
    now: clock.now,
  });

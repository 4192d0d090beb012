import { BackendSet, CallerLinks } from './backends/index.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Inbound, Message, Reply } from './call.ts';
import { makeOffer, type Offer, type OfferedBackend } from './catalog/index.ts';
import type { Clock } from './clock.ts';
import { type Config, type ConfigFile, warningsOf } from './config/index.ts';
import {
  accessOf,
  hostRulesOf,
  levelOf,
  logFieldsOf,
  offerSettingsOf,
  wantedBackendsOf,
  withheldOf,
} from './config-slices.ts';
import {
  type Endpoint,
  type EndpointDeps,
  type Eras,
  failureOnWire,
  hostCheck,
  legacyEra,
  Listeners,
  listChangedNotifications,
  managementServer,
  mcpEndpoint,
  modernEra,
  parseByEra,
  publicServer,
  SseConnections,
} from './edge/index.ts';
import { asVmcpError, type VmcpError } from './errors.ts';
import { authenticateAnonymous, permitAll, unlimited } from './gate/index.ts';
import { LIMITS } from './limits.ts';
import { liveConfig, type LiveConfig } from './live-config.ts';
import { changeLog, failureLog, type Log, noAudit, noTrace } from './observe/index.ts';
import { openSessions, type OpenedSessions } from './open-sessions.ts';
import { pipeline, type Stages } from './pipeline.ts';
import { instructionsOf, statusReport } from './self-description.ts';
import type { StatusReport } from './status-report.ts';
import { VERSION } from './version.ts';
import { taskWatcher } from './watch-tasks.ts';

export interface AssembleOptions {
  readonly files: readonly ConfigFile[];
}

export interface AssembleDeps {
  readonly clock: Clock;
  readonly random: () => number;
  /** An unguessable session id. */
  readonly newSessionId: () => string;
  /** 16 to 32 lower-case letters and digits, at random. */
  readonly newReplicaId: () => string;
  readonly newCorrelationId: () => string;
  /** Value of VMCP_SESSION_KVSTORE_PASSWORD. */
  readonly storePassword: string | undefined;
  readonly readFile: (path: string) => Promise<string>;
  /** Made once the configuration is known, unless the caller has one. */
  readonly logFor: (config: Config) => Log;
}

/** All parts of one runtime, joined, with nothing listening yet. */
export interface Parts {
  readonly config: LiveConfig;
  readonly log: Log;
  readonly backends: BackendSet;
  readonly sessions: OpenedSessions['sessions'];
  readonly callers: CallerLinks;
  readonly endpoint: Endpoint;
  readonly publicApp: ReturnType<typeof publicServer>;
  readonly managementApp: ReturnType<typeof managementServer>;
  readonly status: () => StatusReport;
  /** What the process tells about itself; changed by start and stop. */
  readonly phase: Phase;
}

interface Phase {
  isReady: boolean;
  /** decisions "Management port": the store of the sessions has answered once. */
  hasSessions: boolean;
  /** It was told to stop, and still serves whoever comes. */
  isLeaving: boolean;
  isStopping: boolean;
}

/** Who we are to backends. */
const CLIENT = { name: 'vmcp', version: VERSION };

/** Joins the rooms. Throws InvalidConfigError. */
export const assemble = (options: AssembleOptions, deps: AssembleDeps): Parts => {
  const phase: Phase = { isReady: false, hasSessions: false, isLeaving: false, isStopping: false };
  const config = liveConfig(options.files, (newer) => prepare(newer));
  const log = deps.logFor(config.current());
  warnOf(log, config.current());
  const tell = changeLog(log, deps.clock.now);
  const onChange = (): void => {
    offer.rebuild();
    tell(seen(), offer.catalog());
  };
  const answers = new ByteBudget(LIMITS.responseBytesTogether);
  const backends = new BackendSet({ ...deps, clientInfo: CLIENT, limits: LIMITS.backend, answers, onChange });
  const seen = (): readonly OfferedBackend[] => [
    ...backends.all().map(({ name, state }) => ({ name, ...state })),
    ...withheldOf(config.current()),
  ];
  const offer: Offer = makeOffer({
    settings: () => offerSettingsOf(config.current()),
    backends: seen,
    ...waitsFor(backends),
  });
  const clients = clientsOf({ config, backends, log, phase }, deps);
  const listeners = listenersOf(offer, backends);
  tellOfLists(offer, clients.sessions, listeners);
  let hosts = hostCheck(hostRulesOf(config.current()));
  const eras = erasOf(config, { ...clients, listeners, offer, phase });
  const onFailure = failureLog(log, deps.clock.now);
  const handle = pipeline(stagesOf({ config, eras, backends, offer, onFailure }));
  const endpoint = endpointOf({ hosts: () => hosts, handle, ...clients, answers, onFailure, phase }, deps);
  const prepare = (newer: Config): (() => void) => {
    const newerHosts = hostCheck(hostRulesOf(newer));
    const changeBackends = backends.prepare(wantedBackendsOf(newer));
    return () => {
      hosts = newerHosts;
      log.setLevel(levelOf(newer));
      log.setFields(logFieldsOf(newer));
      changeBackends();
      warnOf(log, newer);
      log.info({ hash: config.hash() }, 'configuration reloaded');
    };
  };
  backends.prepare(wantedBackendsOf(config.current()))();
  const status = (): StatusReport => statusReport(config, backends, offer.catalog(), clients.storeReport());
  return {
    config,
    log,
    backends,
    ...clients,
    endpoint,
    publicApp: publicServer(endpoint, LIMITS, { newCorrelationId: deps.newCorrelationId, onFailure }),
    managementApp: managementServer({
      isReady: () => phase.isReady && phase.hasSessions,
      status,
      access: () => accessOf(config.current()),
      now: deps.clock.now,
    }),
    status,
    phase,
  };
};

const waitsFor = (backends: BackendSet) => ({
  settled: (timeoutMs: number): Promise<void> => backends.settled(timeoutMs),
  known: (timeoutMs: number): Promise<void> => backends.known(timeoutMs),
});

const warnOf = (log: Log, config: Config): void => {
  for (const problem of warningsOf(config)) log.warn({ problem }, 'questionable configuration');
};

const clientsOf = (
  { config, backends, log, phase }: Pick<Parts, 'config' | 'backends' | 'log' | 'phase'>,
  deps: AssembleDeps,
) => {
  const passwordFromEnvironment = deps.storePassword;
  const { sessions, ready, storeReport } = openSessions(config.current, {
    ...deps,
    log,
    backends,
    passwordFromEnvironment,
  });
  void ready.then(() => {
    phase.hasSessions = true;
  });
  const endSession = (id: string): void => sessions.endById(id);
  const limit = LIMITS.sseConnections;
  return {
    sessions,
    storeReport,
    connections: new SseConnections({ newId: deps.newSessionId, endSession, limit }),
    callers: new CallerLinks({
      clock: deps.clock,
      idleMs: () => config.current().extensions.sessionTtl,
      users: LIMITS.sessions,
    }),
  };
};

const listenersOf = (offer: Offer, backends: BackendSet): Listeners =>
  new Listeners({
    limit: LIMITS.listeners,
    watchTasks: taskWatcher(offer.lookUp, backends),
    watchResource: async (uri, caller, listener) => {
      try {
        const target = await offer.lookUp({ names: 'resource', name: uri, caller });
        return backends.watch(target, { uri, caller }, listener);
      } catch {
        // Nobody owns it, or not now: it is not acknowledged.
        return undefined;
      }
    },
  });

const tellOfLists = (offer: Offer, sessions: Parts['sessions'], listeners: Listeners): void =>
  void offer.onListsChanged((kinds) => {
    listeners.listsChanged(kinds);
    for (const notification of listChangedNotifications(kinds)) sessions.notifyAll(notification);
  });

type EndpointParts = Pick<EndpointDeps, 'hosts' | 'handle' | 'answers' | 'connections' | 'onFailure'> &
  Pick<Parts, 'sessions' | 'phase'>;

const endpointOf = ({ sessions, phase, ...parts }: EndpointParts, deps: AssembleDeps): Endpoint =>
  mcpEndpoint({
    ...parts,
    clock: deps.clock,
    newCorrelationId: deps.newCorrelationId,
    isLeaving: () => phase.isLeaving,
    isStopping: () => phase.isStopping,
    bounds: LIMITS,
    isSessionKnown: (id, request) => sessions.isKnown(id, () => authenticateAnonymous(request)),
    bodies: new ByteBudget(LIMITS.bodyBytesTogether),
  });

interface EraParts {
  readonly sessions: Parts['sessions'];
  readonly connections: SseConnections;
  readonly callers: CallerLinks;
  readonly listeners: Listeners;
  readonly offer: Offer;
  readonly phase: Phase;
}

const erasOf = (config: LiveConfig, { sessions, connections, callers, listeners, offer, phase }: EraParts): Eras => {
  const common = {
    serverInfo: () => serverInfoOf(config),
    instructions: () => instructionsOf(config.current()),
    list: offer.list,
    isStopping: () => phase.isStopping,
    toleratesHeaders: () => config.current().extensions.tolerateHeaders,
  };
  return {
    legacy: legacyEra({ ...common, sessions, connections }),
    modern: modernEra({ ...common, listeners, areListsShared: () => true, callers }),
  };
};

/** Who does what in the one sentence; a stage without a feature yet lets everything through. */
const stagesOf = (by: {
  readonly config: LiveConfig;
  readonly eras: Eras;
  readonly backends: BackendSet;
  readonly offer: Offer;
  readonly onFailure: EndpointDeps['onFailure'];
}): Stages => ({
  audit: noAudit,
  trace: noTrace,
  authenticate: authenticateAnonymous,
  parse: parseByEra(by.eras),
  lookUp: by.offer.lookUp,
  authorize: permitAll,
  limit: unlimited,
  outgoingAuth: by.backends.prove,
  backend: by.backends.call,
  refuse: (thrown, message, request) => {
    const error = asVmcpError(thrown);
    by.onFailure(error, request);
    return refused(by.config, error, message, request);
  },
});

const serverInfoOf = (config: LiveConfig) => ({ name: config.current().name, version: VERSION });

const refused = (config: LiveConfig, error: VmcpError, message: Message, request: Inbound): Reply => {
  const { id } = message;
  const failed = { id, correlationId: request.correlationId() };
  if (message.kind === 'local') return { ...failureOnWire(error, failed), refusal: error };
  const { method, client } = message.call;
  const serverInfo = client.era === 'modern' ? serverInfoOf(config) : undefined;
  return { ...failureOnWire(error, { ...failed, method, serverInfo }), refusal: error };
};

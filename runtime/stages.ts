import {
  type Admission,
  type AroundCall,
  type Caller,
  type CallRecord,
  type Inbound,
  type Message,
  type Reply,
  type NewInnerCall,
} from './call/index.ts';
import type { BackendSet, UserBackendSessions } from './backends/index.ts';
import type { LiveCatalog } from './catalog/index.ts';
import {
  type Eras,
  errorResponse,
  type HeldCalls,
  legacyEra,
  type Listeners,
  type ListingClient,
  modernEra,
  parseByEra,
  type SignInLadder,
  type SignInLadderDeps,
  signInLadder,
  type SseConnections,
} from './edge/index.ts';
import { asVmcpError, VmcpError } from './errors.ts';
import { listExtentFor } from './list-extent.ts';
import type { OwnToolDeps, OwnToolsByKind } from './own-tools.ts';
import type { Gate } from './gate/index.ts';
import type { Observers } from './observe/index.ts';
import type { LiveConfig } from './config/index.ts';
import type { OpenedSessions } from './open-sessions.ts';
import type { Stages } from './pipeline.ts';
import type { ListKind } from './mcp/index.ts';
import { instructionsOf } from './self-description.ts';
import { VERSION } from './version.ts';

export interface StageParts {
  readonly config: LiveConfig;
  readonly gate: Gate;
  readonly observers: Observers;
  readonly ownTools: OwnToolsByKind;
  readonly innerCall: NewInnerCall;
  readonly currentCaller: OwnToolDeps['currentCaller'];
  readonly authenticate: Stages['authenticate'];
  readonly admitted: Admission;
  readonly backends: BackendSet;
  readonly liveCatalog: LiveCatalog;
  readonly clients: {
    readonly sessions: OpenedSessions['sessions'];
    readonly connections: SseConnections;
    readonly callers: UserBackendSessions;
    readonly heldCalls: HeldCalls;
    readonly listeners: Listeners;
  };
  readonly onFailure: (error: VmcpError, request: Inbound) => void;
  readonly phase: { readonly isStopping: boolean };
  readonly clock: SignInLadderDeps['clock'];
  /** Absent: no user can sign in here. */
  readonly signIns?: SignInLadderDeps['signIns'] | undefined;
}

/** Supplies each step of `pipeline.ts` from its room. */
export const stagesOf = (parts: StageParts): Stages => {
  const { config, observers, authenticate, admitted, clients, onFailure } = parts;
  const served = servedBy(parts);
  const ladder = ladderOf(parts);
  return {
    ...observers,
    authenticate,
    parse: parseByEra(erasOf(parts, ladder)),
    ...(parts.signIns && { aroundCall: within(observers.aroundCall, ladder.aroundCall) }),
    admit: admitted.admit,
    serve: (call, target, of) => clients.heldCalls.serve(call, () => served(call, target, of)),
    refuse: (thrown, message, request) => {
      const error = asVmcpError(thrown);
      onFailure(error, request);
      return refused(config, error, message, request);
    },
  };
};

/** Each kind of target is served by the part that offers it. */
const servedBy = ({
  observers,
  backends,
  liveCatalog: { offeredTo, listableFor },
  ownTools,
  innerCall,
  onFailure,
  currentCaller,
}: StageParts): Stages['serve'] => {
  return (call, target, { dispatch, record }) => {
    if (target.kind === 'backend')
      return observers.aroundBackendCall(call, target, (sent) => backends.call(sent, target, record));
    const deps = {
      dispatch,
      innerCall,
      offeredTo,
      listableFor,
      aroundStep: observers.aroundStep,
      currentCaller,
      refuse: refuserFor(record, onFailure),
    };
    const served =
      target.kind === 'workflow'
        ? ownTools.workflow?.serve(call, target, deps)
        : ownTools.builtin?.serve(call, target, deps);
    // The catalog has such tools only where a feature offers them.
    if (!served) throw new VmcpError('internal', 'internal error', { detail: `no feature serves a ${target.kind}` });
    return served;
  };
};

/** Answers a call that goes on after the answer to its request, as a task does. */
const refuserFor =
  ({ request: of }: CallRecord, onFailure: StageParts['onFailure']): OwnToolDeps['refuse'] =>
  (thrown, { request: { id } }) => {
    const error = asVmcpError(thrown);
    if (of) onFailure(error, of.request);
    return errorResponse(error, { id, correlationId: of?.request.correlationId() ?? '', method: 'tools/call' });
  };

const within =
  (outer: AroundCall, inner: AroundCall): AroundCall =>
  (call, record, next) =>
    outer(call, record, () => inner(call, record, next));

/** Without sign-ins, everything is as it is. */
const ladderOf = ({ signIns, clock }: StageParts): SignInLadder =>
  signIns
    ? signInLadder({ signIns, clock })
    : { aroundCall: (_call, _record, next) => next(), list: (_caller, list) => list() };

const erasOf = ({ config, gate, backends, liveCatalog, clients, phase }: StageParts, ladder: SignInLadder): Eras => {
  const { sessions, connections, callers, listeners } = clients;
  const common = {
    serverInfo: () => serverInfoOf(config),
    instructions: () => instructionsOf(config.current()),
    list: (kind: ListKind, cursor: string | undefined, caller: Caller, client: ListingClient) =>
      ladder.list(caller, () => liveCatalog.list(kind, cursor, caller, listExtentFor(client, config.current()))),
    isStopping: () => phase.isStopping,
    toleratesHeaders: () => config.current().extensions.tolerateHeaders,
  };
  // A shared cache gives a public answer to every client, so answers are public only where all callers are anonymous
  // and get the same lists.
  const areListsShared = (caller: Caller): boolean =>
    caller.kind === 'anonymous' &&
    // With an optimizer they depend on the client.
    config.current().optimizer === undefined &&
    gate.visible?.(caller) === undefined &&
    gate.policies?.() === undefined &&
    backends.dependents.length === 0;
  return {
    legacy: legacyEra({ ...common, sessions, connections }),
    modern: modernEra({
      ...common,
      isServed: () => config.current().extensions.clientEra === 'auto',
      listeners,
      areListsShared,
      callers,
    }),
  };
};

const serverInfoOf = (config: LiveConfig) => ({ name: config.current().name, version: VERSION });

const refused = (config: LiveConfig, error: VmcpError, message: Message, request: Inbound): Reply => {
  const { id } = message;
  const failed = { id, correlationId: request.correlationId() };
  if (message.kind === 'local') return { ...errorResponse(error, failed), refusal: error };
  const { method, client } = message.call;
  const serverInfo = client.era === 'modern' ? serverInfoOf(config) : undefined;
  return { ...errorResponse(error, { ...failed, method, serverInfo }), refusal: error };
};

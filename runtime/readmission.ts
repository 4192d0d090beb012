import { onRecord, unlessRefused } from './admission.ts';
import type { UserBackendSessions } from './backends/index.ts';
import type { Access, Admission, Caller, MayHave, OnDecided, OpenFor, SubscriptionRights } from './call/index.ts';
import type { LiveConfig } from './config/index.ts';
import type { Listeners, MayWatch, SseConnections } from './edge/index.ts';
import { VmcpError } from './errors.ts';
import { type CurrentCallers, type Gate, verifyCallers } from './gate/index.ts';
import type { Log } from './observe/index.ts';
import type { OpenedSessions } from './open-sessions.ts';
import type { Clock } from './process/index.ts';
import { watchOf } from './watches.ts';

/** Decisions about watches: new ones, and those about watches that were admitted before. */
export interface WatchRights {
  readonly mayHave: MayHave;
  /** Without a limit, and without a record: of updates and subscriptions that come from other replicas. */
  readonly readmit: MayHave;
  readonly mayWatch: MayWatch;
  readonly subscriptions: SubscriptionRights;
}

export interface WatchRightsParts {
  readonly admitted: Admission;
  readonly gate: Pick<Gate, 'policies'>;
  readonly log: Pick<Log, 'error'>;
  readonly onDecided: OnDecided;
}

/** docs/policies.md "Watches" */
export const watchRights = ({ admitted, gate, ...deps }: WatchRightsParts): WatchRights => {
  const readmit = unlessRefused(admitted.readmit, deps.log);
  const keep = onRecord(admitted.readmit, 'refusals', deps);
  return {
    mayHave: onRecord(admitted.admit, 'all', deps),
    readmit,
    mayWatch: async (...watch) => (await keep(watchOf(...watch))) !== undefined,
    subscriptions: {
      mayKeep: async (uri, caller) => (await keep(subscriptionOf(caller, uri))) !== undefined,
      // Without policies, whoever may subscribe may hear all that a backend tells of the subscription.
      mayHear: (uri, caller) =>
        gate.policies?.() === undefined || readmit(subscriptionOf(caller, uri)).then((target) => target !== undefined),
    },
  };
};

const subscriptionOf = (caller: Caller, name: string): Access => ({
  caller,
  method: 'resources/subscribe',
  names: 'resource',
  name,
  origin: 'client',
});

export interface ReadmissionParts {
  readonly config: Pick<LiveConfig, 'onReload'>;
  readonly gate: Pick<Gate, 'policies' | 'authentication' | 'verifyAgain'>;
  readonly users: CurrentCallers;
  readonly clients: {
    readonly listeners: Pick<Listeners, 'openFor' | 'readmit'>;
    readonly sessions: Pick<OpenedSessions['sessions'], 'openFor' | 'readmit'>;
    readonly connections: Pick<SseConnections, 'openFor'>;
    readonly callers: Pick<UserBackendSessions, 'openFor'>;
  };
  readonly onDecided: OnDecided;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly clock: Clock;
}

/** By then, every request that was authenticated before the change has opened what it opens, or has failed. */
const STRAGGLERS_MS = 60_000;

/**
 * What was admitted once does not outlive a change of who may do what: after a change of policies every watch is
 * decided again, after a change of authentication every caller of what stays open is verified again. To be registered
 * after the parts that change themselves.
 */
export const readmitOnReload = (parts: ReadmissionParts): void => {
  const { config, gate, clock, log } = parts;
  const inForce = () => ({ policies: gate.policies?.(), authentication: gate.authentication?.() });
  const failed = (err: unknown): void => log.error({ err }, 'what is open could not be checked again');
  let before = inForce();
  config.onReload(() => () => {
    const now = inForce();
    const [hasOtherPolicies, hasOtherCallers] = [
      now.policies !== before.policies,
      now.authentication !== before.authentication,
    ];
    before = now;
    if (hasOtherPolicies) decideAgain(parts).catch(failed);
    if (!hasOtherCallers) return;
    verifyAgain(parts).catch(failed);
    clock.after(STRAGGLERS_MS, () => void verifyAgain(parts).catch(failed));
  });
};

const decideAgain = async ({ clients: { listeners, sessions }, log }: ReadmissionParts): Promise<void> => {
  const [streams, subscriptions] = await Promise.all([listeners.readmit(), sessions.readmit()]);
  if (streams + subscriptions > 0) log.info({ streams, subscriptions }, 'watches ended that are no longer admitted');
};

const verifyAgain = async (parts: ReadmissionParts): Promise<void> => {
  const { gate, users, clients, clock, log } = parts;
  if (!gate.verifyAgain) return;
  const ended = { streams: 0, sessions: 0 };
  const onEnded = (open: OpenFor): void => {
    if (open.method === 'DELETE') ended.sessions += 1;
    else if (open.method) ended.streams += 1;
    tellEnd(parts, open);
  };
  const all = [clients.listeners, clients.connections, clients.sessions, clients.callers].flatMap((each) =>
    each.openFor(),
  );
  const presented = all.flatMap((open) => {
    const caller = users.newest(open.caller);
    if (caller) return [{ ...open, caller }];
    if (open.end('expired')) onEnded(open);
    return [];
  });
  // What was noted was verified by what is no longer in force.
  users.forget();
  const keep = (open: OpenFor, caller: Caller): void => {
    users.note(caller);
    open.keep(caller);
  };
  await verifyCallers(
    presented.map((open) => ({ ...open, keep: (caller) => keep(open, caller) })),
    { verifyAgain: gate.verifyAgain, clock, onEnded },
  );
  if (ended.streams + ended.sessions > 0) log.info(ended, 'streams and sessions ended whose callers are unknown now');
  // Claims may be mapped differently now.
  await decideAgain(parts);
};

const tellEnd = ({ onDecided }: ReadmissionParts, { caller, method, sessionId }: OpenFor): void => {
  if (!method) return;
  const refusal = new VmcpError('invalid_token', 'the token is not taken any more');
  void onDecided({ caller, method, sessionId, refusal });
};

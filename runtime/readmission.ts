import { onRecord, unlessRefused } from './admission.ts';
import type { UserBackendSessions } from './backends/index.ts';
import type { Access, Admission, Caller, MayHave, OnDecided, OpenFor, SubscriptionRights } from './call/index.ts';
import type { LiveConfig } from './config/index.ts';
import type { Listeners, MayWatch, SseConnections } from './edge/index.ts';
import { VmcpError } from './errors.ts';
import { type CurrentCallers, type Gate, verifyCallers } from './gate/index.ts';
import type { Log } from './observe/index.ts';
import type { OpenedSessions } from './open-sessions.ts';
import type { Clock, Timer } from './process/index.ts';
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
      mayHear: (uri, caller) => {
        if (gate.policies?.() === undefined) return true;
        return uri !== undefined && readmit(subscriptionOf(caller, uri)).then((target) => target !== undefined);
      },
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
  readonly gate: Pick<Gate, 'policies' | 'authentication' | 'verifyAgain' | 'hasVerified'>;
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
  let verifying: Promise<void> | undefined;
  let stragglers: Timer | undefined;
  const decide = (): void => void decideAgain(parts).catch(failed);
  const verify = (): void => {
    const pass = verifyAgain(parts).catch(failed);
    verifying = pass;
    void pass.then(() => {
      if (verifying !== pass) return;
      verifying = undefined;
      decide();
    });
  };
  config.onReload(() => () => {
    const now = inForce();
    const hasOtherPolicies = now.policies !== before.policies;
    const hasOtherCallers = now.authentication !== before.authentication;
    before = now;
    if (hasOtherCallers) {
      verify();
      stragglers?.cancel();
      stragglers = clock.after(STRAGGLERS_MS, verify);
    }
    // Where callers are verified, that comes first: policies may read claims that were not known before.
    else if (hasOtherPolicies && !verifying) decide();
  });
};

const decideAgain = async ({ clients: { listeners, sessions }, log }: ReadmissionParts): Promise<void> => {
  const [streams, subscriptions] = await Promise.all([listeners.readmit(), sessions.readmit()]);
  if (streams + subscriptions > 0) log.info({ streams, subscriptions }, 'watches ended that are no longer admitted');
};

/** Verifies every caller of what is open. Does nothing any more once yet another authentication is in force. */
const verifyAgain = async (parts: ReadmissionParts): Promise<void> => {
  const { gate, users, clients, clock, log } = parts;
  if (!gate.verifyAgain) return;
  const authentication = gate.authentication?.();
  const isOvertaken = (): boolean => gate.authentication?.() !== authentication;
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
    if (caller) return [presentedBy(caller, open, users)];
    if (open.end('expired')) onEnded(open);
    return [];
  });
  await verifyCallers(presented, { verifyAgain: gate.verifyAgain, clock, onEnded, isOvertaken });
  if (isOvertaken()) return;
  // What else was noted was verified by what is no longer in force.
  users.retain((user) => gate.hasVerified?.(user) !== false);
  if (ended.streams + ended.sessions > 0) log.info(ended, 'streams and sessions ended whose callers are unknown now');
};

/** What is open for a caller, by the token presented last. */
const presentedBy = (caller: Caller, open: OpenFor, users: CurrentCallers): OpenFor => ({
  ...open,
  caller,
  keep: (verified) => {
    users.replace(caller, verified);
    open.keep(verified);
  },
});

const tellEnd = ({ onDecided }: ReadmissionParts, { caller, method, sessionId }: OpenFor): void => {
  if (!method) return;
  const refusal = new VmcpError('invalid_token', 'the token is not taken any more');
  void onDecided({ caller, method, sessionId, refusal });
};

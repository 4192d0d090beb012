import { IssuerWatch } from './issuer-watch.ts';
import { elect } from './leader.ts';
import { followKeys, managementKeys } from './management-keys.ts';
import type { ManagementKeys } from './management-keys.ts';
import { watchCluster } from './watching.ts';
import type { Watching } from './watching.ts';
import { reconcileIn } from './world.ts';
import type { ApiClient } from '../api/client.ts';
import { sleep } from '../../runtime/clock.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { StatusReport } from '../../runtime/status-report.ts';
import type { ReconciledKind } from '../kinds/kind.ts';
import { keyOf, keyText } from '../object.ts';
import { errorText } from '../observe/log.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from '../plan/settings.ts';
import type { Source } from '../read/source.ts';

export interface OperatorOptions {
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  readonly settings: Omit<Settings, 'operatorKeys' | 'clusterIssuer'>;
  /** Unique to this process; also the name under which it reports events. */
  readonly identity: string;
  /** Keys reconciled at once. */
  readonly workers: number;
  /** False: act at once, for a process that is known to be alone. */
  readonly leaderElection: boolean;
}

export interface OperatorDeps {
  readonly kinds: readonly ReconciledKind[];
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** A short text that no other call returned. */
  readonly unique: () => string;
  /** Asks the runtime at this address for its status, with the token given. */
  readonly ask: (podIP: string, token: string, signal: AbortSignal) => Promise<StatusReport>;
  readonly log: Log;
}

export interface Operator {
  /** Everything that is watched. */
  readonly source: Source;
  /** Every watched kind was listed once. */
  readonly synced: Promise<void>;
  /** Resolves after the signal was aborted and the last reconcile ended. */
  readonly ended: Promise<void>;
}

/** Watches everywhere, acts while it leads, until `signal` is aborted. No fault of the cluster ends it. */
export const startOperator = (options: OperatorOptions, deps: OperatorDeps, signal: AbortSignal): Operator => {
  const watching = watchCluster(options, deps, signal);
  const { identity } = options;
  const lead = async (term: AbortSignal): Promise<void> => {
    deps.log.info({ identity }, 'leading');
    await act(watching, options, deps, term);
    deps.log.info({ identity }, 'no longer leading');
  };
  const namespace = options.settings.operatorNamespace;
  const onFailure = (error: unknown): void => deps.log.warn({ error: errorText(error) }, 'leader election failed');
  const acting = options.leaderElection
    ? elect({ namespace, identity }, { api: deps.api, clock: deps.clock, onFailure }, lead, signal)
    : lead(signal);
  const ended = Promise.all([watching.ended, acting]).then(() => watching.queue.clear());
  return { source: watching.source, synced: watching.synced, ended };
};

/** A term of leadership: from the first reconcile to the last. */
const act = async (
  watching: Watching,
  options: OperatorOptions,
  deps: OperatorDeps,
  term: AbortSignal,
): Promise<void> => {
  await untilAborted(term, async () => {
    await orAborted(watching.synced, term);
    const keys = await keysWithPatience(options.settings.operatorNamespace, deps, term);
    watching.puller.start(keys.token, term);
    const onFailure = (error: unknown): void =>
      deps.log.error(
        { error: errorText(error) },
        'the keys for the management ports cannot be read; the known ones stay',
      );
    // Their public halves are part of what is rendered.
    const onChange = (): void => watching.puller.followed().forEach((server) => watching.queue.touch(keyText(server)));
    const issuers = new IssuerWatch({
      api: deps.api,
      clock: deps.clock,
      // One that waits for this is not followed.
      onChange: () =>
        watching.cache.all('VirtualMCPServer').forEach((server) => watching.queue.touch(keyText(keyOf(server)))),
      onFailure: (error) =>
        deps.log.warn({ error: errorText(error) }, 'who issues service-account tokens cannot be read; trying again'),
    });
    await issuers.refresh(term);
    await Promise.all([
      followKeys(keys, { clock: deps.clock, onChange, onFailure }, term),
      issuers.follow(term),
      watching.queue.run(reconcileIn(watching, options, deps, { keys, issuers }), term),
    ]);
  });
};

/** Runs `work`; that it throws because of the abort is its ordinary end. */
const untilAborted = async (signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!signal.aborted) {
      throw error;
    }
  }
};

const orAborted = async (promise: Promise<void>, signal: AbortSignal): Promise<void> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  signal.throwIfAborted();
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
};

const keysWithPatience = async (
  namespace: string,
  { api, clock, log }: OperatorDeps,
  signal: AbortSignal,
): Promise<ManagementKeys> => {
  for (;;) {
    try {
      return await managementKeys(namespace, { api, now: clock.now }, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.error({ error: errorText(error) }, 'the keys for the management ports cannot be had; trying again');
      await sleep(clock, 5000, signal);
    }
  }
};

import type { Caller, Target } from '../call/index.ts';
import type { CircuitState } from '../status/index.ts';
import type { Step } from './explanation.ts';

export interface OutgoingDeps {
  /** Status and outgoing strategy of a backend; undefined: it is not served. */
  readonly backend: (name: string) => BackendFacts | undefined;
  /** The provider where the caller has to sign in before a call of this backend; undefined: none, or not known. */
  readonly signInMissing: (caller: Caller, backend: string) => Promise<string | undefined>;
}

export interface BackendFacts {
  readonly status: string;
  /** State of its circuit breaker; absent where that is turned off. */
  readonly circuit?: CircuitState | undefined;
  /** Type of its outgoing strategy. */
  readonly strategy: string;
}

/** Where a call would be sent, and with which credential. Nothing is sent. */
export const outgoingSteps = async (
  target: Target | undefined,
  caller: Caller,
  { backend, signInMissing }: OutgoingDeps,
): Promise<readonly Step[]> => {
  if (target?.kind !== 'backend') {
    const reason = target ? 'this server answers itself' : 'it is not known which backend it would be';
    return [
      { step: 'backend', outcome: 'skipped', reason },
      { step: 'outgoing', outcome: 'skipped', reason },
    ];
  }
  const facts = backend(target.backend);
  if (!facts) {
    const reason = `backend "${target.backend}" is no longer served`;
    return [
      { step: 'backend', outcome: 'refused', reason },
      { step: 'outgoing', outcome: 'skipped', reason },
    ];
  }
  const provider = await signInMissing(caller, target.backend);
  const outgoing = provider === undefined ? outgoingStep(target.backend, facts) : signInStep(provider, facts);
  return [backendStep(target.backend, facts), outgoing];
};

const backendStep = (backend: string, { status, circuit }: BackendFacts): Step => {
  if (circuit === undefined || circuit === 'closed') return statusStep(backend, status);
  return {
    step: 'backend',
    outcome: 'refused',
    backend,
    status,
    circuit,
    code: 'circuit_open',
    reason: `the circuit of backend "${backend}" is ${circuit}: it kept failing, and calls are refused`,
    remedy: 'mend the backend; a check closes the circuit as soon as one succeeds; docs/failures.md',
  };
};

const statusStep = (backend: string, status: string): Step =>
  status === 'ready'
    ? { step: 'backend', outcome: 'ok', backend, status, reason: `backend "${backend}" is ready` }
    : {
        step: 'backend',
        outcome: 'unknown',
        backend,
        status,
        reason: `backend "${backend}" is ${status}: a call is tried, and may fail`,
        remedy: `/status says what its last health check has found; docs/health.md`,
      };

const signInStep = (provider: string, { strategy }: BackendFacts): Step => ({
  step: 'outgoing',
  outcome: 'refused',
  strategy,
  code: 'login_required',
  reason: `the user needs to sign in at "${provider}", for the first time or again`,
  remedy: 'a call gets a link for that, and so does the page of linked accounts; docs/sign-in.md',
});

const outgoingStep = (backend: string, { strategy }: BackendFacts): Step =>
  strategy === 'unauthenticated'
    ? { step: 'outgoing', outcome: 'ok', strategy, reason: `backend "${backend}" is sent no credential` }
    : {
        step: 'outgoing',
        outcome: 'unknown',
        strategy,
        reason: `backend "${backend}" is sent a credential by strategy "${strategy}", which is had when a call needs it`,
      };

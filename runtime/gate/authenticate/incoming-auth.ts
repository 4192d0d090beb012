import { InvalidConfigError, type LiveConfig } from '../../config/index.ts';
import type { Meter } from '../../observe/index.ts';
import { LIMITS } from '../../limits.ts';
import type { Gate } from '../gate.ts';
import {
  authenticationMetrics,
  type AuthenticationMetrics,
  type KnownTokens,
  showKnownTokens,
} from './authentication-metrics.ts';
import { authenticateAnonymous, knownAnonymous } from './anonymous.ts';
import { authenticateLocal } from './local.ts';
import { authenticateRelayed, knownRelayed } from './relayed.ts';
import { protectedResource } from './protected-resource.ts';
import { type AuthenticationSettings, authenticationSettingsOf } from './settings.ts';
import { TokenAuthenticator } from './token-authenticator.ts';
import { tokenVerifier, type VerifierDeps } from './verify-token.ts';

export interface IncomingAuthDeps extends Omit<VerifierDeps, 'onKeysChanged' | 'now' | 'metrics'> {
  readonly config: Pick<LiveConfig, 'live'>;
  readonly clock: { readonly now: () => number };
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
  readonly meter: Meter;
  readonly machine: Machine;
}

/** What incoming auth `local` depends on. */
export interface Machine {
  /** Name of the user who runs this process. */
  readonly userName: () => string;
  /** Whether only programs on this machine can connect. */
  readonly isLoopbackOnly: boolean;
}

/** Who is calling, by the configuration of the moment. */
export interface IncomingAuth {
  readonly authenticate: Gate['authenticate'];
  readonly examineCaller: Gate['authenticate'];
  readonly verifyAgain: Required<Gate>['verifyAgain'];
  /** As in `Gate`. */
  readonly authentication: () => unknown;
  /** The protected-resource metadata (RFC 9728) as JSON text; undefined: nothing is served at this path. */
  readonly metadataAt: (path: string) => string | undefined;
}

type Made = Omit<IncomingAuth, 'authentication'> & {
  readonly knownTokens: () => KnownTokens;
  readonly close: () => Promise<void>;
};

/** Other settings come with caches of their own, so that nothing outlives what it was verified with. */
export const incomingAuth = (deps: IncomingAuthDeps): IncomingAuth => {
  const metrics = authenticationMetrics(deps.meter, deps.steadyNow);
  const current = deps.config.live(
    authenticationSettingsOf,
    (settings) => made(settings, { ...deps, metrics }),
    ({ close }) => void close(),
  );
  showKnownTokens(deps.meter, () => current().knownTokens());
  return {
    authenticate: (head) => current().authenticate(head),
    examineCaller: (head) => current().examineCaller(head),
    verifyAgain: (caller) => current().verifyAgain(caller),
    authentication: current,
    metadataAt: (path) => current().metadataAt(path),
  };
};

interface MadeDeps extends IncomingAuthDeps {
  readonly metrics: AuthenticationMetrics;
}

const made = (settings: AuthenticationSettings, deps: MadeDeps): Made => {
  if (settings.kind === 'anonymous') return withoutTokens(authenticateAnonymous, knownAnonymous);
  if (settings.kind === 'relayed') return withoutTokens(authenticateRelayed, knownRelayed);
  if (settings.kind === 'local') {
    const { authenticate, verifyAgain } = authenticateLocal(localUser(deps.machine));
    return withoutTokens(authenticate, verifyAgain);
  }
  const { now } = deps.clock;
  const resource = protectedResource(settings);
  const authenticator = new TokenAuthenticator({
    resource,
    makeVerifier: (onKeysChanged) => tokenVerifier(settings.issuers, { ...deps, now, onKeysChanged }),
    metrics: deps.metrics,
    now,
    bounds: { tokens: LIMITS.tokens, failures: LIMITS.refusedTokens },
  });
  return {
    authenticate: authenticator.authenticate,
    examineCaller: authenticator.examine,
    verifyAgain: authenticator.verifyAgain,
    metadataAt: resource.metadataAt,
    knownTokens: () => authenticator.known,
    close: () => authenticator.close(),
  };
};

const withoutTokens = (authenticate: Gate['authenticate'], verifyAgain: Made['verifyAgain']): Made => ({
  authenticate,
  examineCaller: authenticate,
  verifyAgain,
  metadataAt: () => undefined,
  knownTokens: () => ({ valid: 0, refused: 0 }),
  close: async () => {},
});

/** docs/authentication.md "The user of the operating system" */
const localUser = ({ userName, isLoopbackOnly }: Machine): string => {
  if (isLoopbackOnly) return userName();
  throw new InvalidConfigError([
    'incomingAuth.type: local is for clients on this machine, and the server listens on other addresses, too; start it with --host 127.0.0.1',
  ]);
};

import type { Caller } from '../../call/index.ts';
import { InvalidConfigError, type LiveConfig } from '../../config/index.ts';
import type { Meter } from '../../observe/index.ts';
import { LIMITS } from '../../limits.ts';
import type { Gate } from '../gate.ts';
import { authenticationMetrics, showKnownTokens } from './authentication-metrics.ts';
import { authenticateAnonymous, knownAnonymous } from './anonymous.ts';
import { FailureBudget } from './failure-budget.ts';
import { type IssuerDeps, type IssuerVerifier, issuerVerifiers } from './issuer-verifier.ts';
import { authenticateLocal } from './local.ts';
import { authenticateRelayed, knownRelayed } from './relayed.ts';
import { protectedResource } from './protected-resource.ts';
import {
  type AuthenticationSettings,
  authenticationSettingsOf,
  type IssuerSettings,
  resourceSettingsOf,
} from './settings.ts';
import { type IsRevoked, TokenAuthenticator, type TokenAuthenticatorDeps } from './token-authenticator.ts';
import { TokenCache } from './token-cache.ts';
import { tokenVerifier, type TokenVerifierDeps } from './verify-token.ts';

export interface IncomingAuthDeps extends Omit<IssuerDeps, 'onKeysChanged' | 'now' | 'metrics'> {
  readonly config: Pick<LiveConfig, 'live'>;
  readonly clock: { readonly now: () => number };
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
  /** Absent: the access of no user is ever ended here. */
  readonly isRevoked?: IsRevoked | undefined;
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
  readonly hasVerified: Required<Gate>['hasVerified'];
  /** As in `Gate`. */
  readonly authentication: () => unknown;
  /** The protected-resource metadata (RFC 9728) as JSON text; undefined: nothing is served at this path. */
  readonly metadataAt: (path: string) => string | undefined;
}

interface Made extends Omit<IncomingAuth, 'authentication' | 'metadataAt'> {
  /** Whether tokens are checked by this one. */
  readonly uses: (verifier: IssuerVerifier) => boolean;
  readonly close: () => Promise<void>;
}

/** What clients are told may change by itself: then everything that was verified goes on. */
export const incomingAuth = (deps: IncomingAuthDeps): IncomingAuth => {
  const { config, clock, meter } = deps;
  const { now } = clock;
  const metrics = authenticationMetrics(meter, deps.steadyNow);
  const cache = new TokenCache(LIMITS.tokens);
  const failures = new FailureBudget(LIMITS.refusedTokens);
  const takeVerifier = issuerVerifiers({ ...deps, now, metrics, onKeysChanged: cache.clear });
  const resource = config.live(resourceSettingsOf, (settings) => settings && protectedResource(settings));
  const { upstreamTokenOf } = deps.ownIssuer ?? {};
  const tokens = { takeVerifier, resource, cache, failures, metrics, upstreamTokenOf, isRevoked: deps.isRevoked, now };
  const current = config.live(
    authenticationSettingsOf,
    (settings) => made(settings, { tokens, machine: deps.machine }),
    ({ close }) => {
      cache.retain((verifier) => current().uses(verifier));
      void close();
    },
  );
  showKnownTokens(meter, () => cache.size);
  return {
    authenticate: (head) => current().authenticate(head),
    examineCaller: (head) => current().examineCaller(head),
    verifyAgain: (caller) => current().verifyAgain(caller),
    hasVerified: (caller) => current().hasVerified(caller),
    authentication: current,
    metadataAt: (path) => resource()?.metadataAt(path),
  };
};

type TokenDeps = Omit<TokenAuthenticatorDeps, 'verifier'> & TokenVerifierDeps;

interface MadeDeps {
  readonly tokens: TokenDeps;
  readonly machine: Machine;
}

const made = (settings: AuthenticationSettings, { tokens, machine }: MadeDeps): Made => {
  if (settings.kind === 'anonymous') return withoutTokens(authenticateAnonymous, knownAnonymous);
  if (settings.kind === 'relayed') return withoutTokens(authenticateRelayed, knownRelayed);
  if (settings.kind === 'tokens') return withTokens(settings.issuers, tokens);
  const { authenticate, verifyAgain } = authenticateLocal(localUser(machine));
  return withoutTokens(authenticate, verifyAgain);
};

const withTokens = (issuers: readonly IssuerSettings[], deps: TokenDeps): Made => {
  const authenticator = new TokenAuthenticator({ ...deps, verifier: tokenVerifier(issuers, deps) });
  return {
    authenticate: authenticator.authenticate,
    examineCaller: authenticator.examine,
    verifyAgain: authenticator.verifyAgain,
    hasVerified: authenticator.hasVerified,
    uses: authenticator.uses,
    close: () => authenticator.close(),
  };
};

/** No caller has to be asked about: who is known is known at once. */
const withoutTokens = (
  authenticate: Gate['authenticate'],
  verifyAgain: (caller: Caller) => Caller | undefined,
): Made => ({
  authenticate,
  examineCaller: authenticate,
  verifyAgain,
  hasVerified: (caller) => verifyAgain(caller) === caller,
  uses: () => false,
  close: async () => {},
});

/** docs/authentication.md "The user of the operating system" */
const localUser = ({ userName, isLoopbackOnly }: Machine): string => {
  if (isLoopbackOnly) return userName();
  throw new InvalidConfigError([
    'incomingAuth.type: local is for clients on this machine, and the server listens on other addresses, too; start it with --host 127.0.0.1',
  ]);
};

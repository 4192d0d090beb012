import type { JSONWebKeySet } from 'jose';
import { type FetchPolicy, type GuardedClient, ownersPolicy } from '../../http/index.ts';
import type { Log } from '../../observe/index.ts';
import type { ReadSecret } from '../../process/index.ts';
import type { AuthenticationMetrics } from './authentication-metrics.ts';
import { discover } from './discovery.ts';
import { introspection, type Introspect } from './introspection.ts';
import { askIssuer, IssuerUnreachableError } from './issuer-client.ts';
import { FetchedKeys, fixedKeys, type IssuerKeys } from './issuer-keys.ts';
import { readJwt, verifyJwt } from './jwt.ts';
import type { IssuerSettings } from './settings.ts';
import { unchecked, type Verdict } from './verdict.ts';

export interface VerifierDeps {
  readonly now: () => number;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly readSecret: ReadSecret;
  readonly fetchUnder: (policy: FetchPolicy, options?: { readonly caBundlePath?: string | undefined }) => GuardedClient;
  readonly metrics: Pick<AuthenticationMetrics, 'asking'>;
  /** The keys of an issuer have changed. */
  readonly onKeysChanged: () => void;
}

export interface TokenVerifier {
  /** Throws `issuer_unavailable` where the issuer would have to be asked and cannot be. */
  readonly verify: (token: string) => Promise<Verdict>;
  readonly close: () => Promise<void>;
}

interface IssuerVerifier {
  readonly settings: IssuerSettings;
  readonly keys: IssuerKeys;
  readonly introspect: Introspect | undefined;
  readonly close: () => Promise<void>;
}

/**
 * Checks tokens of these issuers: `iss` of a JWT picks the issuer, and a token that is none is shown to the first
 * one. A JWT is shown to no issuer, so that none sees the tokens of another. Throws where keys of the configuration
 * cannot be used.
 */
export const tokenVerifier = (issuers: readonly IssuerSettings[], deps: VerifierDeps): TokenVerifier => {
  const verifiers = issuers.map((settings) => issuerVerifier(settings, deps));
  const byIssuer = new Map(verifiers.map((each) => [each.settings.issuer, each]));
  const [first] = verifiers;
  for (const { keys } of verifiers) keys.warm();
  return {
    verify: async (token) => {
      const read = readJwt(token);
      if (read.kind === 'refused') return { ...read, isUnchecked: true };
      if (read.kind === 'opaque')
        return first?.introspect
          ? ofIssuer(first.settings, await first.introspect(token))
          : unchecked('opaque', 'opaque tokens are not taken here');
      const { iss } = read.claims;
      const verifier = typeof iss === 'string' ? byIssuer.get(iss) : undefined;
      if (!verifier) return unchecked('wrong_issuer', 'the token is of another issuer');
      const { settings: issuer, keys } = verifier;
      return ofIssuer(issuer, await verifyJwt({ token, jwt: read, issuer, findKey: keys.findKey, now: deps.now() }));
    },
    close: async () => void (await Promise.all(verifiers.map(({ close }) => close()))),
  };
};

/** A refusal names the issuer whose settings were applied. */
const ofIssuer = ({ issuer }: IssuerSettings, verdict: Verdict): Verdict =>
  verdict.kind === 'refused' ? { ...verdict, issuer } : verdict;

const issuerVerifier = (settings: IssuerSettings, deps: VerifierDeps): IssuerVerifier => {
  const { issuer, issuerKeys, insecureAllowHttp, jwksAllowPrivateIp, caBundlePath } = settings;
  const keys = issuerKeys && fixedKeys(issuerKeys);
  const policy = ownersPolicy('issuer', { insecureAllowHttp, allowPrivateAddresses: jwksAllowPrivateIp });
  const client = deps.fetchUnder(policy, { caBundlePath });
  const { now, log, metrics, onKeysChanged: onChanged } = deps;
  const fetchKeys = (): Promise<JSONWebKeySet> => metrics.asking(issuer, 'keys', () => fetchedKeys(client, settings));
  return {
    settings,
    keys: keys ?? new FetchedKeys({ issuer, fetchKeys, now, log, onChanged }),
    introspect:
      settings.introspection &&
      introspection(settings, settings.introspection, {
        ...deps,
        client,
        discoverEndpoint: endpointOf(client, issuer),
      }),
    close: () => client.close(),
  };
};

const KEYS = 'the keys of the issuer';

const fetchedKeys = async (client: GuardedClient, { issuer, jwksUrl }: IssuerSettings): Promise<JSONWebKeySet> => {
  const url = jwksUrl ?? (await discover(client, issuer)).jwksUri;
  if (url === undefined) throw new IssuerUnreachableError(KEYS, 'the metadata of the issuer names no jwks_uri');
  const { status, object } = await askIssuer(client, KEYS, { url });
  if (object === undefined) throw new IssuerUnreachableError(KEYS, `HTTP ${status}`);
  const { keys } = object;
  if (!Array.isArray(keys)) throw new IssuerUnreachableError(KEYS, 'the answer is no JWK set');
  return { keys };
};

/** The introspection endpoint, looked up once; a failure is tried again. */
const endpointOf = (client: GuardedClient, issuer: string): (() => Promise<string | undefined>) => {
  let known: Promise<string | undefined> | undefined;
  return () => {
    known ??= discover(client, issuer).then(
      ({ introspectionEndpoint }) => introspectionEndpoint,
      (error: unknown) => {
        known = undefined;
        throw error;
      },
    );
    return known;
  };
};

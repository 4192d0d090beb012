import type { JSONWebKeySet } from 'jose';
import { type FetchPolicy, type GuardedClient, ownersPolicy } from '../../http/index.ts';
import type { Log } from '../../observe/index.ts';
import type { ReadSecret } from '../../process/index.ts';
import type { AuthenticationMetrics } from './authentication-metrics.ts';
import { discover } from './discovery.ts';
import { introspection, type Introspect } from './introspection.ts';
import { askIssuer, IssuerUnreachableError } from './issuer-client.ts';
import { FetchedKeys, fixedKeys, type IssuerKeys } from './issuer-keys.ts';
import { type OwnIssuer, ownKeys } from './own-keys.ts';
import type { IssuerSettings, KeySettings } from './settings.ts';
import { SharedBySettings, type Taken } from './shared-by-settings.ts';

export interface IssuerDeps {
  readonly now: () => number;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly readSecret: ReadSecret;
  readonly fetchUnder: (policy: FetchPolicy, options?: { readonly caBundlePath?: string | undefined }) => GuardedClient;
  readonly metrics: Pick<AuthenticationMetrics, 'asking'>;
  /** The keys of an issuer have changed. */
  readonly onKeysChanged: () => void;
  /** The issuer that is part of this process, whose keys are at hand. */
  readonly ownIssuer?: OwnIssuer | undefined;
}

/** How tokens of one issuer are checked; another one whenever that changes. */
export interface IssuerVerifier {
  readonly settings: IssuerSettings;
  readonly keys: IssuerKeys;
  readonly introspect: Introspect | undefined;
}

/** Hands out the verifiers of issuers. Throws where keys of the configuration cannot be used. */
export type TakeVerifier = (settings: IssuerSettings) => Taken<IssuerVerifier>;

/** What is known of one issuer, whatever its tokens have to be. */
interface KnownIssuer {
  readonly keys: IssuerKeys;
  readonly introspectBy: (settings: IssuerSettings) => Introspect | undefined;
  readonly close: () => Promise<void>;
}

/**
 * Verifiers that outlive changes of the configuration which do not concern them. Under other settings for its tokens,
 * an issuer's keys are kept all the same.
 */
export const issuerVerifiers = (deps: IssuerDeps): TakeVerifier => {
  const issuers = new SharedBySettings(
    (settings: KeySettings) => knownIssuer(settings, deps),
    ({ close }) => close(),
  );
  const verifiers = new SharedBySettings(
    (settings: IssuerSettings) => {
      const { value: issuer, release } = issuers.take(keySettingsOf(settings));
      return { verifier: verifierOf(settings, issuer), release };
    },
    ({ release }) => release(),
  );
  return (settings) => {
    const { value, release } = verifiers.take(settings);
    return { value: value.verifier, release };
  };
};

const keySettingsOf = (settings: IssuerSettings): KeySettings => ({
  issuer: settings.issuer,
  issuerKeys: settings.issuerKeys,
  jwksUrl: settings.jwksUrl,
  jwksAllowPrivateIp: settings.jwksAllowPrivateIp,
  insecureAllowHttp: settings.insecureAllowHttp,
  caBundlePath: settings.caBundlePath,
});

const verifierOf = (settings: IssuerSettings, { keys, introspectBy }: KnownIssuer): IssuerVerifier => ({
  settings,
  keys,
  introspect: introspectBy(settings),
});

const knownIssuer = (settings: KeySettings, deps: IssuerDeps): KnownIssuer => {
  const { now, log, metrics, onKeysChanged: onChanged, ownIssuer } = deps;
  const { issuer, issuerKeys, insecureAllowHttp, jwksAllowPrivateIp, caBundlePath } = settings;
  if (ownIssuer?.issuer === issuer) return ofOwnIssuer(ownIssuer, onChanged);
  const fixed = issuerKeys && fixedKeys(issuerKeys);
  const policy = ownersPolicy('issuer', { insecureAllowHttp, allowPrivateAddresses: jwksAllowPrivateIp });
  const client = deps.fetchUnder(policy, { caBundlePath });
  const fetchKeys = (): Promise<JSONWebKeySet> => metrics.asking(issuer, 'keys', () => fetchedKeys(client, settings));
  const keys = fixed ?? new FetchedKeys({ issuer, fetchKeys, now, log, onChanged });
  const asked = { ...deps, client, discoverEndpoint: endpointOf(client, issuer) };
  keys.warm();
  return {
    keys,
    introspectBy: (by) => by.introspection && introspection(by, by.introspection, asked),
    close: () => client.close(),
  };
};

/** Nothing is asked over HTTP, and no token of this issuer is opaque. */
const ofOwnIssuer = (own: OwnIssuer, onChanged: () => void): KnownIssuer => {
  const { findKey, warm, close } = ownKeys(own, onChanged);
  warm();
  return {
    keys: { findKey, warm },
    introspectBy: () => undefined,
    close: async () => close(),
  };
};

const KEYS = 'the keys of the issuer';

const fetchedKeys = async (client: GuardedClient, { issuer, jwksUrl }: KeySettings): Promise<JSONWebKeySet> => {
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

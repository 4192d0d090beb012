import { sleep, type Clock } from '../../runtime/process/index.ts';
import type { ApiClient } from '../api/client.ts';
import { isConflict } from '../api/errors.ts';
import type { KubeObject } from '../object.ts';
import { type Credentials, type Lifetimes, bundleOf, renewed, withNewAuthority } from './credentials.ts';
import { credentialsIn, secretName, secretOf } from './credentials-secret.ts';
import { configurationKey, hostsOf, trustedBy, trusting } from './configuration.ts';
import type { CertificateAndKey } from './x509.ts';

export interface KeepOptions {
  /** Of the Secret. */
  readonly namespace: string;
  /** Of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  readonly lifetimes: Lifetimes;
  /** How often Secret and configuration are looked at. */
  readonly everyMs: number;
}

export interface KeepDeps {
  readonly api: Pick<ApiClient, 'get' | 'createOwned' | 'replace' | 'apply'>;
  readonly clock: Clock;
  /** To be served from now on; called again only with another one. */
  readonly onCertificate: (server: CertificateAndKey) => void;
  /** The API server trusts what is served. */
  readonly onTrusted: () => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Renews the certificates in the Secret, serves what it holds and keeps the API server trusting it, until `signal` is
 * aborted. Every replica does so and takes what another one has written; a lost Secret is made anew without an interval
 * in which the served certificate is not trusted.
 */
export const keepCredentials = async (options: KeepOptions, deps: KeepDeps, signal: AbortSignal): Promise<void> => {
  let held: Credentials | undefined;
  while (!signal.aborted) {
    let pauseMs = options.everyMs;
    try {
      const before = held;
      // The configuration is read first: replicas write the Secret before the bundle, so an older Secret's bundle is
      // never applied to a newer configuration.
      const configuration = await configurationOf(options, deps, signal);
      held = await current(before, { configuration, options }, deps, signal);
      if (held.server.certificate !== before?.server.certificate) deps.onCertificate(held.server);
      const wanted = trusting(configuration, bundleOf(held));
      if (wanted !== undefined) await deps.api.apply(wanted, signal);
      deps.onTrusted();
    } catch (error) {
      if (isConflict(error)) pauseMs = CONFLICT_MS;
      else if (!signal.aborted) deps.onFailure(error);
    }
    await sleep(deps.clock, pauseMs, signal);
  }
};

/** Another replica wrote first; its result can be read at once. */
const CONFLICT_MS = 500;

const configurationOf = async (
  { configuration: name }: KeepOptions,
  { api }: KeepDeps,
  signal: AbortSignal,
): Promise<KubeObject> => {
  const found = await api.get(configurationKey(name), signal);
  if (found === undefined) throw new Error(`there is no ValidatingWebhookConfiguration ${name}`);
  return found;
};

interface Place {
  readonly configuration: KubeObject;
  readonly options: KeepOptions;
}

/** What the Secret holds, renewed if need be. */
const current = async (
  known: Credentials | undefined,
  { configuration, options }: Place,
  { api, clock }: KeepDeps,
  signal: AbortSignal,
): Promise<Credentials> => {
  const { namespace, lifetimes } = options;
  const secret = await api.get({ kind: 'Secret', namespace, name: secretName }, signal);
  const circumstances = {
    hosts: hostsOf(configuration),
    trusted: trustedBy(configuration),
    nowMs: clock.now(),
    lifetimes,
  };
  if (secret === undefined) {
    const made = renewed(known && withNewAuthority(known, circumstances), circumstances);
    await api.createOwned(secretOf(namespace, made), signal);
    return made;
  }
  const stored = credentialsIn(secret);
  const next = renewed(stored, circumstances);
  if (next !== stored) await api.replace(secretOf(namespace, next, secret), signal);
  return next;
};

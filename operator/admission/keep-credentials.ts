import { sleep, type Clock } from '../../runtime/process/index.ts';
import type { ApiClient } from '../api/client.ts';
import { isConflict } from '../api/errors.ts';
import type { KubeObject } from '../object.ts';
import { type Credentials, type Lifetimes, bundleOf, renewed, withNewAuthority } from './credentials.ts';
import { credentialsIn, secretName, secretOf } from './credentials-secret.ts';
import { configurationKey, hostsOf, trustedBy, trusting } from './configuration.ts';
import type { Certified } from './x509.ts';

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
  /** To be served from now on; told again only when it is another one. */
  readonly onCertificate: (server: Certified) => void;
  /** The API server trusts what is served. */
  readonly onTrusted: () => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Keeps the Secret good, what is served equal to it, and the API server trusting it, until `signal` is aborted. Every
 * replica does: what one has made the others take, and what is lost is made anew without a moment in which nothing
 * fits.
 */
export const keepCredentials = async (options: KeepOptions, deps: KeepDeps, signal: AbortSignal): Promise<void> => {
  let held: Credentials | undefined;
  while (!signal.aborted) {
    let pauseMs = options.everyMs;
    try {
      const before = held;
      // First: whoever writes both writes the Secret first, so that of an older Secret no bundle is applied to a newer
      // one.
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

/** Another replica was faster: what it made is to be had at once. */
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

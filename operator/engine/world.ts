import { configMapReader } from './config-map-reader.ts';
import { recordEvents } from './events.ts';
import type { IssuerWatch } from './issuer-watch.ts';
import type { ManagementKeys } from './management-keys.ts';
import type { OperatorDeps, OperatorOptions } from './operator.ts';
import type { Work } from './queue.ts';
import type { Watching } from './watching.ts';
import { keyFromText, keyText } from '../object.ts';
import { errorText } from '../observe/log.ts';
import { reconcile } from '../reconcile.ts';
import type { World } from '../reconcile.ts';

/** What changes while the operator runs, and is rendered for every server. */
export interface Told {
  /** For the management ports. */
  readonly keys: Pick<ManagementKeys, 'publicKeys'>;
  readonly issuers: Pick<IssuerWatch, 'issuer'>;
}

/** Reconciling a key in this cluster. */
export const reconcileIn = (watching: Watching, options: OperatorOptions, deps: OperatorDeps, told: Told): Work => {
  const world = worldOf(watching, options, deps, told);
  const kinds = new Map(deps.kinds.map((kind) => [kind.kind, kind]));
  return async (text, signal) => {
    const subject = keyFromText(text);
    const kind = kinds.get(subject.kind);
    return kind === undefined ? {} : reconcile(kind, subject, world, signal);
  };
};

const worldOf = (watching: Watching, options: OperatorOptions, deps: OperatorDeps, told: Told): World => {
  const { cache, source, podsOf, puller, rewrites } = watching;
  const { api, clock, unique, log } = deps;
  const events = {
    api,
    now: clock.now,
    unique,
    instance: options.identity,
    onFailure: (error: unknown) => log.warn({ error: errorText(error) }, 'an event was not taken'),
  };
  return {
    source,
    readContent: configMapReader(api),
    get settings() {
      const operatorKeys = told.keys.publicKeys();
      const clusterIssuer = told.issuers.issuer;
      return { ...options.settings, operatorKeys, ...(clusterIssuer && { clusterIssuer }) };
    },
    api,
    cache,
    rewrites,
    now: clock.now,
    podsOf,
    record: (regarding, planned, signal) => recordEvents(regarding, planned, events, signal),
    onStatusRefused: (key, error) =>
      log.error({ key: keyText(key), error: errorText(error) }, 'the API server does not take this status'),
    followPods: (owner, uid, everyMs) => puller.follow(owner, uid, everyMs),
    forget: (owner) => puller.forget(owner),
  };
};

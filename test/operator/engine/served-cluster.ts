import type { ServerResponse } from 'node:http';
import { API_VERSION, kinds } from '../../../crds/index.ts';
import { apiClient } from '../../../operator/api/client.ts';
import { resourceTable } from '../../../operator/api/resources.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { Planner } from '../../../operator/offload/planner.ts';
import { validateHere } from '../../../operator/offload/validate.ts';
import { reconciler } from '../../../operator/reconcile-key.ts';
import { watchCluster } from '../../../operator/watch-cluster.ts';
import { until } from '../../cluster/until.ts';
import { type Answer, json, type ScriptedServer } from '../api/scripted-server.ts';
import { DEFAULT_SETTINGS } from '../plan/golden.ts';
import { settled } from './manual-clock.ts';

/** An operator over a scripted API server that is empty at first and takes whatever is applied. */
export interface ServedCluster {
  /** An event on the watch of the kind with this plural. */
  readonly add: (plural: string, object: object) => Promise<void>;
  /** Lets time pass until an object of this kind is applied. */
  readonly untilApplied: (kind: string) => Promise<KubeObject>;
  readonly stop: () => void;
}

export const serveCluster = async (server: ScriptedServer): Promise<ServedCluster> => {
  const { clock } = server;
  const watches = new Map<string, ServerResponse>();
  const applied: KubeObject[] = [];
  server.answer = (asked, response) => {
    const plural = asked.path.split('/').at(-1) ?? '';
    if ('sendInitialEvents' in asked.query) response.end(END_OF_LIST);
    else if ('watch' in asked.query) {
      response.flushHeaders();
      watches.set(plural, response);
    } else if (asked.method === 'PATCH') takeApplied(applied)(asked, response);
    else json(404, { kind: 'Status', code: 404 })(asked, response);
  };
  const end = new AbortController();
  const deps = {
    kinds: reconciledKinds(),
    api: apiClient(server.transportWith(), resourceTable(RESOURCES)),
    clock,
    now: clock.now,
    random: () => 1,
    unique: () => 'x',
    fetchStatus: () => Promise.reject(new Error('no pod answers')),
    validate: validateHere,
    plan: new Planner({ run: () => Promise.reject(new Error('nothing here is large')) }, clock).plan,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    observe: { reconciled: nothing, failed: nothing, waited: nothing, watchInterrupted: nothing, leads: nothing },
  };
  const watching = watchCluster({ namespaces: [], workers: 1 }, deps, end.signal);
  await watching.synced;
  const live = { keys: { publicKeys: () => [], mac, macKeys: () => [] }, issuers: { issuer: undefined } };
  const work = reconciler(watching, { settings: DEFAULT_SETTINGS, identity: 'op', isDryRun: false }, deps, live);
  void watching.queue.run(work, end.signal, end.signal);
  return {
    add: async (plural, object) => {
      while (!watches.has(plural)) await settled();
      watches.get(plural)?.write(`${JSON.stringify({ type: 'ADDED', object: asStored(object) })}\n`);
    },
    untilApplied: (kind) =>
      until(`${kind} to be applied`, async () => {
        await clock.advance(1_000);
        return applied.find((object) => object.kind === kind);
      }),
    stop: () => end.abort(new Error('the test is over')),
  };
};

const nothing = (): void => {};
const { mac = { sign: () => '', verify: () => false } } = DEFAULT_SETTINGS;
const RESOURCES = Object.values(kinds).map(({ kind, plural }) => ({ kind, plural, apiVersion: API_VERSION }));

/** KEP-3157 */
const END_OF_LIST = `${JSON.stringify({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
})}\n`;

const takeApplied =
  (applied: KubeObject[]): Answer =>
  (asked, response) => {
    const object = JSON.parse(asked.body) as KubeObject;
    applied.push(object);
    json(200, asStored(object))(asked, response);
  };

const asStored = (object: object): KubeObject => {
  const { metadata, kind, ...rest } = object as KubeObject;
  const stored = { namespace: 'default', uid: `${kind}-${metadata.name}`, resourceVersion: '2', generation: 1 };
  return { ...rest, kind, metadata: { ...stored, ...metadata } };
};

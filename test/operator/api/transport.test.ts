import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apiClient } from '../../../operator/api/client.ts';
import type { Connection } from '../../../operator/api/kubeconfig.ts';
import { resourceTable } from '../../../operator/api/resources.ts';
import { type ReadJson, readHere } from '../../../operator/threads/read-json.ts';
import { json, key, startScriptedServer, table, widget } from './scripted-server.ts';

const signal = new AbortController().signal;
const server = await startScriptedServer();

test('every request is observed with its verb, its status and its duration; one without an answer, too', async () => {
  const told: string[] = [];
  const observe = ({ verb, kind }: { verb: string; kind: string }, status: number | undefined, ms: number): void =>
    void told.push(`${verb} ${kind} ${status ?? 'none'} ${ms}`);
  const watched = server.transportWith({ observe });
  const api = apiClient(watched, table);
  server.answer = json(200, { ...widget, metadata: { resourceVersion: '1' }, items: [] });
  await api.get(key, signal);
  await api.list(key, signal);
  for await (const _ of api.watch(key, '1', signal)) assert.fail('a watch of nothing');
  await api.apply(widget, signal);
  await api.applyStatus(widget, signal);
  await api.create(widget, signal);
  await api.replace(widget, signal);
  await api.mergePatch(key, {}, signal);
  server.answer = json(404, {});
  await api.remove(key, 'uid', signal);
  server.answer = (_, response) => response.destroy();
  await assert.rejects(api.get(key, signal));
  const gone = new AbortController();
  server.answer = () => gone.abort(new Error('stopping'));
  await assert.rejects(api.get(key, gone.signal), /stopping/);
  assert.deepEqual(told, [
    'get Widget 200 0',
    'list Widget 200 0',
    'watch Widget 200 0',
    'apply Widget 200 0',
    'apply Widget 200 0',
    'create Widget 200 0',
    'update Widget 200 0',
    'patch Widget 200 0',
    'delete Widget 404 0',
    'get Widget none 0',
  ]);
});

test('an answer is read on the turn of the namespace that it is about, and as long as it is wanted', async () => {
  const turns: (string | undefined)[] = [];
  const wanted = new AbortController();
  const read: ReadJson = (json, { tenant, signal: until } = {}) => {
    turns.push(tenant);
    assert.equal(until, wanted.signal);
    return readHere(json);
  };
  const api = apiClient(server.transportWith({ read }), table);
  server.answer = json(200, { ...widget, metadata: { resourceVersion: '1' }, items: [] });
  await api.get(key, wanted.signal);
  await api.get({ ...key, namespace: '' }, wanted.signal);
  await api.apply(widget, wanted.signal);
  await api.list(key, wanted.signal);
  await api.list({ kind: 'Widget', namespace: '' }, wanted.signal);
  assert.deepEqual(turns, ['here', '', 'here', 'here', '']);
});

test('the Lease is renewed whatever else waits for its turn', async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const leases = resourceTable([{ kind: 'Lease', apiVersion: 'test.vmcp.dev/v1', plural: 'leases' }]);
  server.answer = json(200, widget);
  const api = apiClient(server.transportWith({ rateLimit: never }), leases);
  assert.ok(await api.get({ ...key, kind: 'Lease' }, signal));
});

describe('credentials', () => {
  test('are asked for again after a 401, and once a minute', async () => {
    let given = 0;
    const counting: Connection = {
      ...server.connection,
      authorization: () => {
        given += 1;
        return Promise.resolve(`Bearer ${given}`);
      },
    };
    const wire = server.transportWith({}, counting);
    const get = async (status: number): Promise<string | undefined> => {
      server.answer = json(status, {});
      await wire.json({ verb: 'get', kind: 'Widget', method: 'GET', path: '/api' }, signal).catch(() => {});
      return server.asked.at(-1)?.headers.authorization;
    };
    assert.deepEqual([await get(200), await get(401), await get(200)], ['Bearer 1', 'Bearer 1', 'Bearer 2']);
    await server.clock.advance(61_000);
    assert.equal(await get(200), 'Bearer 3');
  });
});

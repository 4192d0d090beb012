import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { InvalidConfigError, type PrepareReload } from '../../runtime/config/live-config.ts';
import type { ConnectStrategy } from '../../runtime/outgoing/index.ts';
import type { Running, StartDeps } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { answerJson, type FixtureBackend, startBackend, textResult } from '../fixtures/backend.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

describe('a new configuration, live', () => {
  let a: FixtureBackend;
  let b: FixtureBackend;
  let running: Running;
  let session: RawSession;
  before(async () => {
    [a, b] = await Promise.all([startBackend(), startBackend()]);
  });
  after(async () => {
    await Promise.all([a.close(), b.close()]);
  });
  beforeEach(async () => {
    a.set({});
    running = await startRuntime(configFile({ a: a.url }));
    session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_echo']);
  });
  afterEach(() => running.stop());

  test('adds a backend to open sessions', async () => {
    assert.deepEqual(running.reload(configFile({ a: a.url, b: b.url })), { ok: true });
    assert.deepEqual(await session.toolNames(), ['a_echo', 'b_echo']);
  });

  test('removes a backend; its names become unknown', async () => {
    running.reload(configFile({ a: a.url, b: b.url }));
    await session.toolNames();
    running.reload(configFile({ b: b.url }));
    assert.deepEqual(await session.toolNames(), ['b_echo']);
    assert.equal(((await session.call('a_echo')).json as { error: { code: number } }).error.code, -32602);
  });

  test('keeps the warm sessions of backends that stay', async () => {
    await session.call('a_echo');
    running.reload(configFile({ a: a.url, b: b.url }));
    await session.toolNames();
    const before = a.requests.length;
    await session.call('a_echo');
    assert.deepEqual(
      a.requests.slice(before).map(({ method }) => method),
      ['tools/call'],
    );
  });

  test('lets a call finish at a backend that goes, then ends the session there', async () => {
    let release = (): void => {};
    a.set({
      on: ({ recorded }) =>
        recorded.method === 'tools/call'
          ? (exchange) => {
              release = () => answerJson(textResult('finished'))(exchange);
            }
          : undefined,
    });
    const call = session.send({ jsonrpc: '2.0', id: 'long', method: 'tools/call', params: { name: 'a_echo' } });
    const arrived = await a.received(({ body }) => body.includes('"long"'));
    running.reload(configFile({ b: b.url }));
    assert.deepEqual(await session.toolNames(), ['b_echo']);
    release();
    assert.match((await call).text, /finished/);
    await a.received(
      ({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === arrived.headers['mcp-session-id'],
    );
  });

  test('sends calls to the new address of a backend that has moved', async () => {
    await session.call('a_echo');
    running.reload(configFile({ a: b.url }));
    await session.toolNames();
    const before = b.requests.length;
    await session.call('a_echo');
    assert.ok(b.requests.slice(before).some(({ method }) => method === 'tools/call'));
  });

  test('changes names', async () => {
    running.reload(
      configFile({ a: a.url }, { aggregation: { conflictResolutionConfig: { prefixFormat: '{workload}.' } } }),
    );
    assert.deepEqual(await session.toolNames(), ['a.echo']);
  });

  test('changes the server name and the allowed hosts', async () => {
    running.reload(configFile({ a: a.url }, { name: 'renamed' }));
    const { json } = (await openSession(running.url)).initialize;
    assert.equal((json as { result: { serverInfo: { name: string } } }).result.serverInfo.name, 'renamed');
  });

  test('that is invalid is refused; the old one goes on, and the status says why', async () => {
    const { hash } = running.status().config;
    const result = running.reload(configFile({ a: 'ftp://nowhere' }));
    assert.equal(result.ok, false);
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    const { config } = running.status();
    assert.equal(config.hash, hash);
    assert.match(config.refused?.join('\n') ?? '', /config\.yaml:\d+.*url/s);
    running.reload(configFile({ a: a.url, b: b.url }));
    assert.equal(running.status().config.refused, undefined);
    assert.notEqual(running.status().config.hash, hash);
  });

  test('with an address that cannot be parsed is refused, and the next one is taken', async () => {
    const { hash } = running.status().config;
    for (const url of ['http://h:99999/', 'http://[::1/mcp', 'http://%/', 'http://999.1.1.1/']) {
      assert.equal(running.reload(configFile({ a: a.url, bad: url })).ok, false, url);
      assert.equal(running.status().config.hash, hash);
      await assert.rejects(startRuntime(configFile({ bad: url })), InvalidConfigError);
    }
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    assert.deepEqual(running.reload(configFile({ a: a.url, b: b.url })), { ok: true });
  });

  test('that is refused for one backend leaves open nothing that was made for the others', async (t) => {
    const open: string[] = [];
    const connectStrategy: ConnectStrategy = (_config, { backend: { name } }) => {
      if (name === 'bad') throw new Error('no such secret');
      open.push(name);
      return { dependsOnCaller: false, close: async () => void open.splice(open.indexOf(name), 1) };
    };
    const refuse: PrepareReload = ({ name }) => {
      if (name === 'bad') throw new Error('something else cannot be had');
      return () => {};
    };
    const features: StartDeps['features'] = ({ config }) => ({
      connectStrategy,
      routes: () => [() => config.onReload(refuse)],
    });
    const strict = await startRuntime(configFile({ a: a.url }), {}, { features });
    t.after(() => strict.stop());
    assert.equal(strict.reload(configFile({ a: a.url, b: b.url, bad: b.url })).ok, false);
    assert.deepEqual(open, ['a']);
    assert.equal(strict.reload(configFile({ a: a.url, b: b.url }, { name: 'bad' })).ok, false);
    assert.deepEqual(open, ['a']);
    assert.deepEqual(strict.reload(configFile({ b: b.url })), { ok: true });
    await until('the strategy of the backend that went to be closed', async () => open.length === 1 || undefined);
    assert.deepEqual(open, ['b']);
  });

  test('changes the metadata that the status shows', async () => {
    const report = () => {
      const { metadata, backends } = running.status();
      return [metadata, backends[0]?.metadata];
    };
    assert.deepEqual(report(), [undefined, undefined]);
    const backends = [{ name: 'a', url: a.url, transport: 'streamable-http', metadata: { zone: 'eu' } }];
    running.reload(configFile({}, { metadata: { team: 'red' }, backends }));
    assert.deepEqual(report(), [{ team: 'red' }, { zone: 'eu' }]);
  });

  covers('aggregation.static.metadata-group-set', 'aggregation.static.metadata-group-overridden');
  test('shows the group of the server for every backend, whatever its metadata says', () => {
    const named = (groupRef: object, metadata: object) => {
      const backends = [{ name: 'a', url: a.url, transport: 'streamable-http', ...metadata }];
      running.reload(configFile({}, { ...groupRef, backends }));
      return running.status().backends[0]?.metadata;
    };
    const groupRef = { groupRef: 'tools' };
    const mine = { metadata: { group: 'mine', zone: 'eu' } };
    assert.deepEqual(named(groupRef, mine), { group: 'tools', zone: 'eu' });
    assert.deepEqual(named(groupRef, {}), { group: 'tools' });
    // A server that is in no group has none to show.
    assert.deepEqual(named({}, mine), { zone: 'eu' });
    assert.equal(named({}, { metadata: { group: 'mine' } }), undefined);
  });

  test('reports the tools and states of its backends', async () => {
    const { toolCount, backends } = running.status();
    assert.equal(toolCount, 1);
    assert.deepEqual(
      backends.map(({ name, status, consecutiveFailures, toolCount }) => ({
        name,
        status,
        consecutiveFailures,
        toolCount,
      })),
      [{ name: 'a', status: 'ready', consecutiveFailures: 0, toolCount: 1 }],
    );
    assert.match(backends[0]?.lastHealthCheck ?? '', /^\d{4}-\d\d-\d\dT/);
  });
});

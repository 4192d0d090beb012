import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import { dryRunClient } from '../../../operator/api/dry-run.ts';
import { json, key, startScriptedServer, table, widget } from './scripted-server.ts';

const signal = new AbortController().signal;
const server = await startScriptedServer();

describe('a dry run', () => {
  const dry = (): ApiClient => dryRunClient(server.transportWith(), table);

  test('asks the server what applies and patches would lead to', async () => {
    server.answer = json(200, widget);
    await dry().apply(widget, signal, 'another');
    await dry().applyStatus(widget, signal);
    await dry().mergePatch(key, {}, signal);
    assert.deepEqual(
      server.asked.map(({ method, query }) => `${method} ${query['dryRun']} ${query['fieldManager']}`),
      ['PATCH All another', 'PATCH All vmcp-operator', 'PATCH All vmcp-operator'],
    );
  });

  test('sends nothing else, and knows the Secrets that it would have made', async () => {
    const api = dry();
    const secret = { ...widget, kind: 'Secret', apiVersion: 'v1' };
    await api.create(secret, signal);
    assert.deepEqual(await api.create(widget, signal), widget);
    assert.deepEqual(await api.replace(widget, signal), widget);
    await api.remove(key, 'uid', signal);
    assert.deepEqual(server.asked, []);
    server.answer = json(404, {});
    assert.deepEqual(await api.get({ ...key, kind: 'Secret' }, signal), secret);
    assert.equal(await api.get(key, signal), undefined);
  });
});

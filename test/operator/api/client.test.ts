import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, isConflict, isRefusal, isTooLarge } from '../../../operator/api/errors.ts';
import { type Answer, json, key, startScriptedServer, widget } from './scripted-server.ts';

const signal = new AbortController().signal;
const server = await startScriptedServer();

test('a kubeconfig gives address, prefix, namespace and token', async () => {
  server.answer = json(200, widget);
  await server.client.get(key, signal);
  assert.equal(server.connection.namespace, 'team');
  assert.equal(server.asked[0]?.path, '/behind/a/proxy/apis/test.vmcp.dev/v1/namespaces/here/widgets/w');
  assert.equal(server.asked[0]?.headers.authorization, 'Bearer secret');
});

test('fields that this program does not know survive, in and out', async () => {
  server.answer = (one, response) => json(200, JSON.parse(one.body))(one, response);
  assert.deepEqual(await server.client.apply(widget, signal), widget);
});

test('an apply that ends in an internal error is explained by a create that is never stored', async () => {
  for (const [status, told, reason] of [
    [400, 400, 'BadRequest'],
    [422, 422],
    // A webhook denies it.
    [400, 500],
    [409, 500],
    [403, 500],
    [201, 500],
  ] as const) {
    server.asked.length = 0;
    server.answer = (one, response) =>
      json(one.method === 'PATCH' ? 500 : status, { message: one.method, reason })(one, response);
    await assert.rejects(
      server.client.apply(widget, signal),
      (error) => error instanceof ApiError && error.status === told,
    );
    assert.deepEqual(
      server.asked.map(({ method, query }) => [method, query['dryRun']]),
      [
        ['PATCH', undefined],
        ['POST', 'All'],
      ],
    );
  }
});

test('an apply of a new object names a version that no object has, and finds nothing to explain in that', async () => {
  server.asked.length = 0;
  server.answer = json(201, widget);
  assert.deepEqual(await server.client.applyNew(widget, signal), widget);
  const [apply] = server.asked;
  assert.deepEqual(apply?.query, { fieldManager: 'vmcp-operator', force: 'true' });
  const sent = JSON.parse(apply?.body ?? '') as typeof widget;
  assert.deepEqual(sent, { ...widget, metadata: { ...widget.metadata, resourceVersion: '1' } });
  // Where there is one of its name.
  server.answer = json(409, { message: 'the object has been modified', reason: 'Conflict' });
  assert.equal(await server.client.applyNew(widget, signal), undefined);
  server.asked.length = 0;
  server.answer = (one, response) => json(one.method === 'PATCH' ? 500 : 422, { message: one.method })(one, response);
  await assert.rejects(server.client.applyNew(widget, signal), (error) => isRefusal(error));
  assert.deepEqual(JSON.parse(server.asked[1]?.body ?? ''), widget);
});

test('apply is server-side, with our name and by force; a status goes to the subresource', async () => {
  server.answer = json(200, widget);
  await server.client.apply(widget, signal);
  await server.client.applyStatus(widget, signal);
  const [apply, status] = server.asked;
  assert.deepEqual(apply?.query, { fieldManager: 'vmcp-operator', force: 'true' });
  assert.equal(apply?.method, 'PATCH');
  assert.equal(apply?.headers['content-type'], 'application/apply-patch+yaml');
  assert.match(status?.path ?? '', /\/widgets\/w\/status$/);
});

test('an object that does not exist is undefined, and deleting it is done', async () => {
  server.answer = json(404, { kind: 'Status', reason: 'NotFound', message: 'widgets "w" not found' });
  assert.equal(await server.client.get(key, signal), undefined);
  await server.client.remove(key, 'uid-1', signal);
  assert.deepEqual(JSON.parse(server.asked[1]?.body ?? ''), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: 'Background',
    preconditions: { uid: 'uid-1' },
  });
});

test('a list is read page by page, and its items get the kind that they lack', async () => {
  const item = (name: string): object => ({ metadata: { name } });
  server.answer = (one, response) =>
    one.query['continue'] === undefined
      ? json(200, { metadata: { resourceVersion: '7', continue: 'more' }, items: [item('a')] })(one, response)
      : json(200, { metadata: { resourceVersion: '7' }, items: [item('b')] })(one, response);
  const list = await server.client.list({ kind: 'Widget', namespace: '', labelSelector: 'a=b' }, signal);
  assert.deepEqual(
    list.items.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`),
    ['test.vmcp.dev/v1 Widget a', 'test.vmcp.dev/v1 Widget b'],
  );
  assert.equal(list.resourceVersion, '7');
  assert.deepEqual(
    server.asked.map(({ path, query }) => [path.slice('/behind/a/proxy'.length), query['labelSelector']]),
    Array.from({ length: 2 }, () => ['/apis/test.vmcp.dev/v1/widgets', 'a=b']),
  );
});

test('of Secrets only the metadata crosses the wire when that is all that is asked for', async () => {
  server.answer = json(200, { metadata: { resourceVersion: '7' }, items: null });
  await server.client.list({ kind: 'Secret', namespace: '', metadataOnly: true }, signal);
  assert.equal(server.asked[0]?.headers.accept, 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
});

test('of an object only the metadata may be asked for', async () => {
  const metadata = { name: 'w', namespace: 'here', generation: 2 };
  server.answer = json(200, { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata });
  assert.deepEqual(await server.client.getMetadata(key, signal), metadata);
  assert.equal(server.asked[0]?.headers.accept, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
  server.answer = json(404, {});
  assert.equal(await server.client.getMetadata(key, signal), undefined);
});

/** In the words of kube-apiserver 1.34 and etcd 3.6. */
const TOO_LARGE = [
  [413, 'Request entity too large: limit is 3145728', true],
  [500, 'etcdserver: request is too large', true],
  [
    500,
    'rpc error: code = ResourceExhausted desc = trying to send message larger than max (2309938 vs. 2097152)',
    true,
  ],
  [500, 'rpc error: code = ResourceExhausted desc = etcdserver: mvcc: database space exceeded', false],
  [500, 'etcdserver: request timed out', false],
] as const;

describe('an answer that is no success', () => {
  const failed = async (given: Answer): Promise<ApiError> => {
    server.answer = given;
    const error: unknown = await server.client.apply(widget, signal).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ApiError);
    return error;
  };

  test('carries the words of the server', async () => {
    const error = await failed(json(422, { reason: 'Invalid', message: 'spec.x: must be a number' }));
    assert.deepEqual([error.status, error.reason, error.message], [422, 'Invalid', 'spec.x: must be a number']);
  });

  for (const status of [400, 403, 413, 422]) {
    test(`${status} is a refusal`, async () => assert.equal(isRefusal(await failed(json(status, {}))), true));
  }
  for (const status of [401, 404, 409, 410, 429, 500, 503]) {
    test(`${status} is none`, async () => assert.equal(isRefusal(await failed(json(status, {}))), false));
  }

  for (const [status, message, isOne] of TOO_LARGE) {
    test(`${status} ${message} is ${isOne ? '' : 'not '}about the size of the object`, async () => {
      server.asked.length = 0;
      const error = await failed(json(status, { kind: 'Status', status: 'Failure', message, code: status }));
      assert.deepEqual([isTooLarge(error), isRefusal(error)], [isOne, isOne]);
      assert.equal(server.asked.length, isOne ? 1 : 2, 'what is wrong with it is not asked for');
    });
  }

  test('409 is a conflict, 429 says how long to wait', async () => {
    assert.equal(isConflict(await failed(json(409, {}))), true);
    const busy = await failed(json(429, {}, { 'retry-after': '7' }));
    assert.deepEqual([busy.status, busy.retryAfterMs], [429, 7000]);
    assert.equal((await failed(json(503, { details: { retryAfterSeconds: 2 } }))).retryAfterMs, 2000);
  });

  test('may come from something else than an API server', async () => {
    const error = await failed((_, response) => response.writeHead(502).end('<html>bad gateway</html>'));
    assert.equal(error.message, 'the API server answered 502');
  });
});

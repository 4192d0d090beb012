import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { apiClient } from '../../../operator/api/client.ts';
import type { ApiClient } from '../../../operator/api/client.ts';
import { dryRunClient } from '../../../operator/api/dry-run.ts';
import { ApiError, isConflict, isRefusal } from '../../../operator/api/errors.ts';
import { connect } from '../../../operator/api/kubeconfig.ts';
import type { Connection } from '../../../operator/api/kubeconfig.ts';
import { resourceTable } from '../../../operator/api/resources.ts';
import { transport } from '../../../operator/api/transport.ts';
import type { WatchEvent } from '../../../operator/api/watch.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { manualClock } from '../engine/manual-clock.ts';

interface Asked {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (asked: Asked, response: ServerResponse) => void;

const asked: Asked[] = [];
let answer: Answer;
let client: ApiClient;
let connection: Connection;
let folder: string;
const table = resourceTable([{ kind: 'Widget', apiVersion: 'test.vmcp.dev/v1', plural: 'widgets' }]);
const clock = manualClock();
const signal = new AbortController().signal;
const server = createServer((request, response) => {
  void (async () => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const { method, headers } = request;
    const one = { method, path: pathname, query: Object.fromEntries(searchParams), headers, body };
    asked.push(one);
    answer(one, response);
  })();
});

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  folder = await mkdtemp(join(tmpdir(), 'vmcp-client-'));
  const { port } = server.address() as AddressInfo;
  const path = join(folder, 'kubeconfig');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    // The library takes plain HTTP only with it.
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}/behind/a/proxy/`, [skipVerify]: true } }],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    'current-context': 'x',
  };
  await writeFile(path, JSON.stringify(kubeconfig));
  connection = await connect(path, {});
  client = apiClient(transport(connection, { clock, rateLimit: () => Promise.resolve() }), table);
});
after(async () => {
  await connection.close();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  asked.length = 0;
});

const skipVerify = 'insecure-skip-tls-verify';

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

const widget: KubeObject = {
  apiVersion: 'test.vmcp.dev/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'here' },
  spec: { 'a field nobody knows': [1, { two: null }] },
};

const key = { kind: 'Widget', namespace: 'here', name: 'w' };

test('a kubeconfig gives address, prefix, namespace and token', async () => {
  answer = json(200, widget);
  await client.get(key, signal);
  assert.equal(connection.namespace, 'team');
  assert.equal(asked[0]?.path, '/behind/a/proxy/apis/test.vmcp.dev/v1/namespaces/here/widgets/w');
  assert.equal(asked[0]?.headers.authorization, 'Bearer secret');
});

test('fields that this program does not know survive, in and out', async () => {
  answer = (one, response) => json(200, JSON.parse(one.body))(one, response);
  assert.deepEqual(await client.apply(widget, signal), widget);
});

test('an apply that ends in an internal error is explained by a create that is never stored', async () => {
  for (const [status, told] of [
    [400, 400],
    [422, 422],
    [409, 500],
    [403, 500],
    [201, 500],
  ] as const) {
    asked.length = 0;
    answer = (one, response) => json(one.method === 'PATCH' ? 500 : status, { message: one.method })(one, response);
    await assert.rejects(client.apply(widget, signal), (error) => error instanceof ApiError && error.status === told);
    assert.deepEqual(
      asked.map(({ method, query }) => [method, query['dryRun']]),
      [
        ['PATCH', undefined],
        ['POST', 'All'],
      ],
    );
  }
});

test('apply is server-side, with our name and by force; a status goes to the subresource', async () => {
  answer = json(200, widget);
  await client.apply(widget, signal);
  await client.applyStatus(widget, signal);
  const [apply, status] = asked;
  assert.deepEqual(apply?.query, { fieldManager: 'vmcp-operator', force: 'true' });
  assert.equal(apply?.method, 'PATCH');
  assert.equal(apply?.headers['content-type'], 'application/apply-patch+yaml');
  assert.match(status?.path ?? '', /\/widgets\/w\/status$/);
});

test('an object that does not exist is undefined, and deleting it is done', async () => {
  answer = json(404, { kind: 'Status', reason: 'NotFound', message: 'widgets "w" not found' });
  assert.equal(await client.get(key, signal), undefined);
  await client.remove(key, 'uid-1', signal);
  assert.deepEqual(JSON.parse(asked[1]?.body ?? ''), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: 'Background',
    preconditions: { uid: 'uid-1' },
  });
});

test('a list is read page by page, and its items get the kind that they lack', async () => {
  const item = (name: string): object => ({ metadata: { name } });
  answer = (one, response) =>
    one.query['continue'] === undefined
      ? json(200, { metadata: { resourceVersion: '7', continue: 'more' }, items: [item('a')] })(one, response)
      : json(200, { metadata: { resourceVersion: '7' }, items: [item('b')] })(one, response);
  const list = await client.list({ kind: 'Widget', namespace: '', labelSelector: 'a=b' }, signal);
  assert.deepEqual(
    list.items.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`),
    ['test.vmcp.dev/v1 Widget a', 'test.vmcp.dev/v1 Widget b'],
  );
  assert.equal(list.resourceVersion, '7');
  assert.deepEqual(
    asked.map(({ path, query }) => [path.slice('/behind/a/proxy'.length), query['labelSelector']]),
    Array.from({ length: 2 }, () => ['/apis/test.vmcp.dev/v1/widgets', 'a=b']),
  );
});

test('of Secrets only the metadata crosses the wire when that is all that is asked for', async () => {
  answer = json(200, { metadata: { resourceVersion: '7' }, items: null });
  await client.list({ kind: 'Secret', namespace: '', metadataOnly: true }, signal);
  assert.equal(asked[0]?.headers.accept, 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
});

describe('an answer that is no success', () => {
  const failed = async (given: Answer): Promise<ApiError> => {
    answer = given;
    const error: unknown = await client.apply(widget, signal).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ApiError);
    return error;
  };

  test('carries the words of the server', async () => {
    const error = await failed(json(422, { reason: 'Invalid', message: 'spec.x: must be a number' }));
    assert.deepEqual([error.status, error.reason, error.message], [422, 'Invalid', 'spec.x: must be a number']);
  });

  for (const status of [400, 403, 422]) {
    test(`${status} is a refusal`, async () => assert.equal(isRefusal(await failed(json(status, {}))), true));
  }
  for (const status of [401, 404, 409, 410, 429, 500, 503]) {
    test(`${status} is none`, async () => assert.equal(isRefusal(await failed(json(status, {}))), false));
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

describe('a watch', () => {
  const events = async (given: Answer, stopping: AbortSignal = signal): Promise<readonly WatchEvent[]> => {
    answer = given;
    const all: WatchEvent[] = [];
    for await (const event of client.watch({ kind: 'Widget', namespace: 'here' }, '41', stopping)) all.push(event);
    return all;
  };
  const line = (type: string, name: string): string => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`;

  test('asks for bookmarks from where the list ended', async () => {
    await events((_, response) => response.end());
    const { watch, resourceVersion, allowWatchBookmarks } = asked[0]?.query ?? {};
    assert.deepEqual([watch, resourceVersion, allowWatchBookmarks], ['true', '41', 'true']);
  });

  test('puts events together however the bytes are cut, within a letter too', async () => {
    const bytes = Buffer.from(line('ADDED', 'ä') + line('DELETED', 'b'));
    const seen = await events((_, response) => {
      const cut = bytes.indexOf(0xa4);
      response.write(bytes.subarray(0, cut));
      setImmediate(() => response.end(bytes.subarray(cut)));
    });
    assert.deepEqual(
      seen.map(({ type, object }) => `${type} ${object.kind} ${object.metadata.name}`),
      ['ADDED Widget ä', 'DELETED Widget b'],
    );
  });

  test('throws what the server reports within it', async () => {
    const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    await assert.rejects(
      events((_, response) => response.end(`${JSON.stringify(gone)}\n`)),
      (error: unknown) => error instanceof ApiError && error.status === 410,
    );
  });

  test('ends when it is told to', async () => {
    const stopping = new AbortController();
    const hanging = events((_, response) => {
      response.write(line('ADDED', 'a'));
      stopping.abort(new Error('stopping'));
    }, stopping.signal);
    await assert.rejects(hanging, /stopping/);
  });
});

test('every request is told with what it does, its status and its time; one without an answer is told too', async () => {
  const told: string[] = [];
  const observe = ({ verb, kind }: { verb: string; kind: string }, status: number | undefined, ms: number): void =>
    void told.push(`${verb} ${kind} ${status ?? 'none'} ${ms}`);
  const watched = transport(connection, { clock, rateLimit: () => Promise.resolve(), observe });
  const api = apiClient(watched, table);
  answer = json(200, { ...widget, metadata: { resourceVersion: '1' }, items: [] });
  await api.get(key, signal);
  await api.list(key, signal);
  for await (const _ of api.watch(key, '1', signal)) assert.fail('a watch of nothing');
  await api.apply(widget, signal);
  await api.applyStatus(widget, signal);
  await api.create(widget, signal);
  await api.replace(widget, signal);
  await api.mergePatch(key, {}, signal);
  answer = json(404, {});
  await api.remove(key, 'uid', signal);
  answer = (_, response) => response.destroy();
  await assert.rejects(api.get(key, signal));
  const gone = new AbortController();
  answer = () => gone.abort(new Error('stopping'));
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

describe('a dry run', () => {
  const dry = (): ApiClient =>
    dryRunClient(transport(connection, { clock, rateLimit: () => Promise.resolve() }), table);

  test('asks the server what applies and patches would lead to', async () => {
    answer = json(200, widget);
    await dry().apply(widget, signal, 'another');
    await dry().applyStatus(widget, signal);
    await dry().mergePatch(key, {}, signal);
    assert.deepEqual(
      asked.map(({ method, query }) => `${method} ${query['dryRun']} ${query['fieldManager']}`),
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
    assert.deepEqual(asked, []);
    answer = json(404, {});
    assert.deepEqual(await api.get({ ...key, kind: 'Secret' }, signal), secret);
    assert.equal(await api.get(key, signal), undefined);
  });
});

describe('credentials', () => {
  test('are asked for again after a 401, and once a minute', async () => {
    let given = 0;
    const counting: Connection = {
      ...connection,
      authorization: () => {
        given += 1;
        return Promise.resolve(`Bearer ${given}`);
      },
    };
    const wire = transport(counting, { clock, rateLimit: () => Promise.resolve() });
    const get = async (status: number): Promise<string | undefined> => {
      answer = json(status, {});
      await wire.json({ verb: 'get', kind: 'Widget', method: 'GET', path: '/api' }, signal).catch(() => {});
      return asked.at(-1)?.headers.authorization;
    };
    assert.deepEqual([await get(200), await get(401), await get(200)], ['Bearer 1', 'Bearer 1', 'Bearer 2']);
    await clock.advance(61_000);
    assert.equal(await get(200), 'Bearer 3');
  });
});

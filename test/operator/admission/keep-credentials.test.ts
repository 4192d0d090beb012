import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { LIFETIMES, bundleOf } from '../../../operator/admission/credentials.ts';
import { credentialsIn } from '../../../operator/admission/credentials-secret.ts';
import { type KeepDeps, keepCredentials } from '../../../operator/admission/keep-credentials.ts';
import { ApiError } from '../../../operator/api/errors.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { manualClock } from '../engine/manual-clock.ts';

const start = Date.parse('2026-11-20T12:00:00Z');
const everyMs = 10_000;
const day = 86_400_000;

interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly caBundle?: string };
}

const webhooksOf = (object: KubeObject | undefined): readonly Webhook[] =>
  (object?.['webhooks'] ?? []) as readonly Webhook[];

const configuration = (): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'ours', uid: 'u', resourceVersion: '1' },
  webhooks: ['one', 'two'].map((name) => ({ name, clientConfig: { service: { namespace: 'ops', name: 'webhook' } } })),
});

/** An API server with room for one configuration and one Secret, and with optimistic locking. */
const apiServer = () => {
  const stored = new Map<string, KubeObject>([['ValidatingWebhookConfiguration', configuration()]]);
  const writes: string[] = [];
  const versions = { next: 2 };
  const put = (verb: string, object: KubeObject): KubeObject => {
    const resourceVersion = String(versions.next++);
    const saved = { ...object, metadata: { ...object.metadata, resourceVersion } };
    stored.set(object.kind, saved);
    writes.push(`${verb} ${object.kind}`);
    return saved;
  };
  const conflict = (reason: string) => Promise.reject(new ApiError(409, { reason }));
  const isStale = ({ kind, metadata }: KubeObject): boolean =>
    stored.get(kind)?.metadata.resourceVersion !== metadata.resourceVersion;
  const api: KeepDeps['api'] = {
    get: ({ kind }) => Promise.resolve(stored.get(kind)),
    createOwned: (object) =>
      stored.has(object.kind) ? conflict('AlreadyExists') : Promise.resolve(put('create', object)),
    replace: (object) => (isStale(object) ? conflict('Conflict') : Promise.resolve(put('replace', object))),
    apply: (object) => {
      if (isStale(object)) return conflict('Conflict');
      const wanted = webhooksOf(object);
      const webhooks = webhooksOf(stored.get(object.kind)).map((each) => ({
        ...each,
        clientConfig: { ...each.clientConfig, ...wanted.find(({ name }) => name === each.name)?.clientConfig },
      }));
      return Promise.resolve(put('apply', { ...object, webhooks }));
    },
  };
  const bundles = (): readonly string[] => {
    const webhooks = webhooksOf(stored.get('ValidatingWebhookConfiguration'));
    const texts = webhooks.map(({ clientConfig }) => Buffer.from(clientConfig.caBundle ?? '', 'base64').toString());
    return [...new Set(texts)];
  };
  return { stored, writes, api, bundles };
};

type ApiServer = ReturnType<typeof apiServer>;

const clock = manualClock(start);
let stopping = new AbortController();
afterEach(async () => {
  stopping.abort();
  await clock.advance(everyMs);
  stopping = new AbortController();
});

interface Replica {
  readonly served: string[];
  readonly failures: string[];
  isTrusted: boolean;
}

const replicaOf = ({ api }: Pick<ApiServer, 'api'>): Replica => {
  const replica: Replica = { served: [], failures: [], isTrusted: false };
  const options = { namespace: 'ops', configuration: 'ours', lifetimes: LIFETIMES, everyMs };
  const deps: KeepDeps = {
    api,
    clock,
    onCertificate: ({ certificate }) => replica.served.push(certificate),
    onTrusted: () => {
      replica.isTrusted = true;
    },
    onFailure: (error) => replica.failures.push(String(error)),
  };
  void keepCredentials(options, deps, stopping.signal);
  return replica;
};

const isTrusted = (server: ApiServer, { served }: Replica): boolean => {
  const certificate = new X509Certificate(served.at(-1) ?? '');
  const [bundle = ''] = server.bundles();
  const authorities = bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return authorities.some((pem) => certificate.checkIssued(new X509Certificate(pem)));
};

test('the first look makes the Secret, serves what is in it, and has it trusted in every webhook', async () => {
  const server = apiServer();
  const replica = replicaOf(server);
  await clock.advance(0);
  assert.deepEqual(server.writes, ['create Secret', 'apply ValidatingWebhookConfiguration']);
  const secret = server.stored.get('Secret');
  assert.ok(secret);
  assert.deepEqual([secret.metadata.name, secret.metadata.namespace], ['vmcp-operator-webhook', 'ops']);
  assert.deepEqual(replica.served, [credentialsIn(secret).server.certificate]);
  assert.deepEqual(server.bundles(), [bundleOf(credentialsIn(secret))]);
  assert.ok(replica.isTrusted);
  assert.equal(new X509Certificate(replica.served[0] ?? '').subjectAltName, 'DNS:webhook.ops.svc');
});

test('at rest nothing is written', async () => {
  const server = apiServer();
  const replica = replicaOf(server);
  await clock.advance(60 * everyMs);
  assert.equal(server.writes.length, 2);
  assert.equal(replica.served.length, 1);
});

test('replicas that start together share one certificate, and so does one that comes later', async () => {
  const server = apiServer();
  const replicas = [replicaOf(server), replicaOf(server)];
  await clock.advance(everyMs);
  replicas.push(replicaOf(server));
  await clock.advance(everyMs);
  const last = new Set(replicas.map(({ served }) => served.at(-1)));
  assert.equal(last.size, 1);
  assert.deepEqual(
    replicas.flatMap(({ failures }) => failures),
    [],
  );
  assert.equal(server.writes.filter((write) => write === 'create Secret').length, 1);
});

test('a bundle that another writer removed is put back', async () => {
  const server = apiServer();
  const replica = replicaOf(server);
  await clock.advance(0);
  const before = server.bundles();
  server.stored.set('ValidatingWebhookConfiguration', configuration());
  await clock.advance(everyMs);
  assert.deepEqual(server.bundles(), before);
  assert.equal(replica.served.length, 1);
});

test('a Secret that is deleted is made anew with another authority, and no replica serves what is not trusted', async () => {
  const server = apiServer();
  const replicas = [replicaOf(server), replicaOf(server)];
  await clock.advance(everyMs);
  const [before = ''] = server.bundles();
  server.stored.delete('Secret');
  for (let look = 0; look < 120; look += 1) {
    await clock.advance(everyMs);
    for (const replica of replicas) assert.ok(isTrusted(server, replica), `look ${look}`);
  }
  const [after = ''] = server.bundles();
  assert.ok(!after.includes(before.trim()));
  assert.equal(new Set(replicas.map(({ served }) => served.at(-1))).size, 1);
});

test('through a whole change of authority no replica serves what is not trusted', async () => {
  const server = apiServer();
  const replicas = [replicaOf(server), replicaOf(server)];
  await clock.advance(everyMs);
  const secret = server.stored.get('Secret');
  assert.ok(secret);
  const { authorities } = credentialsIn(secret);
  const end = new X509Certificate(authorities[0]?.certificate ?? '').validToDate.getTime();
  // Just before the last third of its life; nobody looks meanwhile, so nothing happens on the way.
  stopping.abort();
  await clock.advance(end - LIFETIMES.authorityMs / 3 - clock.now() - 5 * everyMs);
  stopping = new AbortController();
  const later = [replicaOf(server), replicaOf(server)];
  for (let look = 0; look < 120; look += 1) {
    await clock.advance(everyMs);
    for (const replica of later) assert.ok(isTrusted(server, replica), `look ${look}`);
  }
  assert.ok(replicas.every(({ failures }) => failures.length === 0));
  assert.ok(
    !server
      .bundles()
      .join('')
      .includes(authorities[0]?.certificate ?? 'none'),
  );
  assert.ok(clock.now() - start < 400 * day);
});

test('what is missing or refused is logged, tried again, and does not stop what is served', async () => {
  const server = apiServer();
  server.stored.delete('ValidatingWebhookConfiguration');
  const replica = replicaOf(server);
  await clock.advance(0);
  assert.match(replica.failures[0] ?? '', /there is no ValidatingWebhookConfiguration ours/);
  assert.ok(!replica.isTrusted);
  server.stored.set('ValidatingWebhookConfiguration', configuration());
  await clock.advance(everyMs);
  assert.ok(replica.isTrusted);
  const { apply } = server.api;
  server.stored.set('ValidatingWebhookConfiguration', configuration());
  Object.assign(server.api, { apply: () => Promise.reject(new ApiError(403, { message: 'not yours' })) });
  await clock.advance(everyMs);
  assert.match(replica.failures.at(-1) ?? '', /not yours/);
  Object.assign(server.api, { apply });
  await clock.advance(everyMs);
  assert.ok(isTrusted(server, replica));
});

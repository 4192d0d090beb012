import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { test } from 'node:test';
import { type Admission, type AdmissionDeps, startAdmission } from '../../../operator/admission/index.ts';
import type { KubeObject, ObjectKey } from '../../../operator/object.ts';
import { type ValidateObject, validateHere } from '../../../operator/offload/validate.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { type ManualClock, manualClock, settled } from '../engine/manual-clock.ts';
import { creating, deleting, object } from './context-under-test.ts';

const configuration: KubeObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'ours', uid: 'u', resourceVersion: '1' },
  webhooks: [{ name: 'one', clientConfig: { url: 'https://127.0.0.1/validate' } }],
};

const login = object('MCPExternalAuthConfig', 'login', { type: 'unauthenticated' });
const user = object('MCPServerEntry', 'user', {
  groupRef: { name: 'tools' },
  remoteUrl: 'http://a.example.com',
  transport: 'sse',
  externalAuthConfigRef: { name: 'login' },
});
const bad = object('MCPServerEntry', 'bad', { ...(user['spec'] as object), remoteUrl: 'http://me:pw@a' });

interface UnderTest extends Admission {
  readonly clock: ManualClock;
  readonly failures: readonly string[];
  readonly reviews: readonly string[];
}

const DRAIN_MS = 5_000;

interface Circumstances {
  readonly namespaces?: readonly string[];
  readonly isSynced?: () => boolean;
  readonly get?: (key: ObjectKey) => Promise<KubeObject | undefined>;
  readonly validate?: ValidateObject;
}

const started = async ({
  namespaces = [],
  isSynced = () => true,
  get = () => Promise.resolve(user),
  validate = validateHere,
}: Circumstances = {}): Promise<UnderTest> => {
  const clock = manualClock(Date.now());
  const failures: string[] = [];
  const api: AdmissionDeps['api'] = {
    get: (key) =>
      key.kind === 'ValidatingWebhookConfiguration'
        ? Promise.resolve(configuration)
        : key.kind === 'Secret'
          ? Promise.resolve(undefined)
          : get(key),
    getMetadata: async (key) => (await get(key))?.metadata,
    createOwned: (made) => Promise.resolve(made),
    replace: (made) => Promise.resolve(made),
    apply: (made) => Promise.resolve(made),
  };
  const quiet = (): void => {};
  const log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (fields: object) => void failures.push(JSON.stringify(fields)),
  };
  const reviews: string[] = [];
  const observe: AdmissionDeps['observe'] = ({ kind, operation }, isAllowed) =>
    void reviews.push(`${operation} ${kind} ${isAllowed}`);
  const admission = await startAdmission(
    { port: 0, configuration: 'ours', namespace: 'ops', namespaces, drainMs: DRAIN_MS },
    {
      api,
      source: () => objectsSource([login, user]),
      validate,
      clock,
      isSynced,
      log: log as AdmissionDeps['log'],
      observe,
    },
  );
  await settled();
  return { ...admission, clock, failures, reviews };
};

const stop = async (admission: UnderTest): Promise<void> => {
  const stopped = admission.stop();
  await admission.clock.advance(DRAIN_MS);
  await stopped;
};

/** The status of the answer, or whether the change is allowed. */
const ask = async (port: number, path: string, review: object): Promise<number | boolean> => {
  const headers = { 'content-type': 'application/json' };
  // Who answers is the business of other tests.
  const call = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    rejectUnauthorized: false,
    agent: false,
    headers,
  });
  call.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: review }));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode !== 200) return response.statusCode ?? 0;
  return (JSON.parse(text) as { readonly response: { readonly allowed: boolean } }).response.allowed;
};

test('specs and deletions are asked about under a path of their own', async () => {
  const admission = await started();
  assert.ok(admission.isReady());
  assert.equal(await ask(admission.port, '/validate', creating(bad)), false);
  assert.equal(await ask(admission.port, '/validate', creating(user)), true);
  assert.equal(await ask(admission.port, '/validate-deletion', deleting(login)), false);
  assert.equal(await ask(admission.port, '/validate', deleting(login)), true);
  const judged = ['CREATE', 'CREATE', 'DELETE', 'DELETE'].map((operation, index) => [
    operation,
    [bad, user, login, login][index]?.kind,
    index % 2 === 1,
  ]);
  assert.deepEqual(
    admission.reviews,
    judged.map((words) => words.join(' ')),
  );
  await stop(admission);
});

test('what happens in a namespace that the operator does not look after is let through', async () => {
  const admission = await started({ namespaces: ['elsewhere'] });
  assert.equal(await ask(admission.port, '/validate', creating(bad)), true);
  assert.equal(await ask(admission.port, '/validate-deletion', deleting(login)), true);
  assert.deepEqual(admission.reviews, []);
  await stop(admission);
});

test('an operator that does not know the cluster yet decides nothing', async () => {
  const admission = await started({ isSynced: () => false });
  assert.equal(await ask(admission.port, '/validate', creating(bad)), 503);
  await stop(admission);
});

test('an API server that does not say who uses it is not waited for longer than the API server waits for the answer', async () => {
  const { promise: asked, resolve: markAsked } = Promise.withResolvers<void>();
  const admission = await started({
    get: () => {
      markAsked();
      return new Promise(() => {});
    },
  });
  const answer = ask(admission.port, '/validate-deletion', deleting(login));
  await asked;
  await admission.clock.advance(4_000);
  assert.equal(await answer, 500);
  assert.match(admission.failures.join('\n'), /no answer within 4 s/);
  await stop(admission);
});

test('of what one namespace has looked up one answer is on its way at a time, however many ask at once', async () => {
  let most = 0;
  let underWay = 0;
  const { promise: begun, resolve: markBegun } = Promise.withResolvers<void>();
  const { promise: isThere, resolve: markThere } = Promise.withResolvers<void>();
  const admission = await started({
    get: async () => {
      most = Math.max(most, (underWay += 1));
      markBegun();
      await isThere;
      underWay -= 1;
      return user;
    },
  });
  const answers = [1, 2, 3, 4].map(() => ask(admission.port, '/validate-deletion', deleting(login)));
  await begun;
  const other = { ...login, metadata: { ...login.metadata, namespace: 'nobody-uses-it-here' } };
  assert.equal(await ask(admission.port, '/validate-deletion', deleting(other)), true);
  for (let round = 0; round < 100; round += 1) await settled();
  markThere();
  assert.deepEqual(await Promise.all(answers), [false, false, false, false]);
  assert.equal(most, 1);
  await stop(admission);
});

test('what could not be judged in time is not judged any more', async () => {
  const { promise: asked, resolve: markAsked } = Promise.withResolvers<AbortSignal | undefined>();
  const admission = await started({
    validate: (_object, _references, signal) => {
      markAsked(signal);
      return new Promise(() => {});
    },
  });
  const answer = ask(admission.port, '/validate', creating(user));
  const signal = await asked;
  assert.equal(signal?.aborted, false);
  await admission.clock.advance(4_000);
  assert.equal(await answer, 500);
  assert.equal(signal.aborted, true);
  await stop(admission);
});

test('once it stops it goes on answering for a while, since the API server learns of that later', async () => {
  const admission = await started();
  const stopped = admission.stop();
  await admission.clock.advance(DRAIN_MS - 1);
  assert.equal(await ask(admission.port, '/validate', creating(bad)), false);
  await admission.clock.advance(1);
  await stopped;
  await assert.rejects(ask(admission.port, '/validate', creating(bad)), /ECONNREFUSED/);
});

test('a port that is taken is told at the start', async () => {
  const admission = await started();
  const again = startAdmission(
    { port: admission.port, configuration: 'ours', namespace: 'ops', namespaces: [], drainMs: 0 },
    {} as AdmissionDeps,
  );
  await assert.rejects(again, /EADDRINUSE/);
  await stop(admission);
});

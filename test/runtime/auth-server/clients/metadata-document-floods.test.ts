import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { ClientError } from '../../../../runtime/auth-server/clients/client-error.ts';
import { inUseMarks } from '../../../../runtime/auth-server/clients/in-use-marks.ts';
import {
  metadataDocuments,
  type PublishedClients,
} from '../../../../runtime/auth-server/clients/metadata-documents.ts';
import { FetchError } from '../../../../runtime/http/fetch-error.ts';
import { fetchPolicies } from '../../../../runtime/http/fetch-policy.ts';
import type { FetchResponse, GuardedFetch } from '../../../../runtime/http/guarded-fetch.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';

const CLIENT = 'https://agent.example/client.json';
const [USER, STRANGER] = ['192.0.2.1', '198.51.100.1'];
const MINUTE = 60_000;

const answering = (document: object): FetchResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(document)),
});

const documentAt = (url: string): FetchResponse =>
  answering({
    client_id: url,
    redirect_uris: ['https://agent.example/callback'],
    ...(url.includes('keys-at')
      ? { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `https://agent.example/slow-keys?${url}` }
      : { token_endpoint_auth_method: 'none' }),
  });

const KEYS = answering({ keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] });

/** A URL that is answered when the test says so. */
const isSlow = (url: string): boolean => url.includes('slow');

describe('a stranger who names many metadata documents', () => {
  let clock: FrozenClock;
  let clients: PublishedClients;
  /** As another process does, over the same store. */
  let startAnew: () => PublishedClients;
  let fetched: string[];
  let answerSlowOnes: () => void;
  let admitted: number;
  beforeEach(() => {
    clock = frozenClock();
    const store = memoryStore({ clock });
    fetched = [];
    const underWay: string[] = [];
    admitted = Infinity;
    const { promise, resolve } = Promise.withResolvers<void>();
    answerSlowOnes = resolve;
    const fetch: GuardedFetch = async ({ url }) => {
      const { origin } = new URL(url);
      const toOrigin = underWay.filter((each) => each === origin).length;
      if (toOrigin >= fetchPolicies.stranger.requests) throw new FetchError('busy', origin);
      fetched.push(url);
      underWay.push(origin);
      if (isSlow(url)) await promise;
      underWay.splice(underWay.indexOf(origin), 1);
      return url.includes('slow-keys') ? KEYS : documentAt(url);
    };
    const waitMs = async (): Promise<number> => ((admitted -= 1) >= 0 ? 0 : 1_500);
    startAnew = () =>
      metadataDocuments({ fetch, fetchInUse: fetch, marks: inUseMarks({ store, clock }), clock, waitMs });
    clients = startAnew();
  });

  const fetchesOf = (url: string): number => fetched.filter((each) => each === url).length;

  /** Asks for all these documents at one time, each for the address that `from` says. */
  const nameAll = (count: number, urlOf: (n: number) => string, from: (n: number) => string = () => STRANGER) =>
    Promise.allSettled(Array.from({ length: count }, (_, n) => clients.find(urlOf(n), from(n))));
  const nameWith = (at: PublishedClients, count: number, what: string, from: (n: number) => string) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, n) => at.find(`https://${what}-${n}.example/client.json`, from(n))),
    );
  const name = (count: number, what: string, from?: (n: number) => string) =>
    nameAll(count, (n) => `https://${what}-${n}.example/client.json`, from);

  const refused = (outcomes: readonly PromiseSettledResult<unknown>[]): readonly unknown[] =>
    outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));

  test('that are slow has eight fetched at one time, and a client of another address is fetched beside them', async () => {
    const naming = name(100, 'slow');
    assert.ok(await clients.find(CLIENT, USER));
    assert.equal(fetched.filter(isSlow).length, 8);
    answerSlowOnes();
    const failures = refused(await naming);
    assert.equal(failures.length, 92);
    for (const failure of failures) {
      assert.ok(failure instanceof ClientError);
      assert.deepEqual([failure.statusCode, failure.retryAfterSeconds], [503, 10]);
    }
    assert.ok(await clients.find('https://later.example/client.json', STRANGER), 'its places are free again');
  });

  test('of one site has four fetched there at one time, and a client of this site is fetched for another address', async () => {
    const naming = nameAll(8, (n) => `https://agent.example/slow-${n}.json`);
    assert.ok(await clients.find(CLIENT, USER));
    assert.equal(fetched.filter(isSlow).length, 4);
    answerSlowOnes();
    assert.equal(refused(await naming).length, 4);
  });

  test('that name keys at one site has four fetched there at one time, wherever the documents are', async () => {
    const naming = name(8, 'keys-at');
    await settled();
    assert.ok(await clients.find(CLIENT, USER));
    assert.equal(fetched.filter(isSlow).length, 4);
    answerSlowOnes();
    assert.equal(refused(await naming).length, 4);
  });

  test('of one site from many addresses keeps a client of this site away no longer than they are fetched', async () => {
    const naming = nameAll(
      8,
      (n) => `https://agent.example/slow-${n}.json`,
      (n) => `203.0.113.${n}`,
    );
    await settled();
    await assert.rejects(clients.find(CLIENT, USER), { statusCode: 503 });
    answerSlowOnes();
    await naming;
    assert.ok(await clients.find(CLIENT, USER));
  });

  test('from a whole IPv6 network counts as one', async () => {
    const naming = name(100, 'slow', (n) => `2001:db8:1:2::${(n + 1).toString(16)}`);
    answerSlowOnes();
    assert.equal(refused(await naming).length, 92);
  });

  test('from many addresses does not keep a client in use from being fetched anew', async () => {
    await clients.find(CLIENT, USER);
    clients.markInUse(CLIENT);
    const naming = name(100, 'slow', (n) => `203.0.113.${n}`);
    clock.advance(MINUTE);
    await clients.find(CLIENT, USER);
    assert.equal(fetched.filter(isSlow).length, 32);
    assert.equal(fetchesOf(CLIENT), 2);
    answerSlowOnes();
    await naming;
  });

  test('after a restart, from many addresses, keeps no client in use from being fetched, and displaces none', async () => {
    await clients.find(CLIENT, USER);
    clients.markInUse(CLIENT);
    await settled();
    clients = startAnew();
    const naming = name(100, 'slow', (n) => `203.0.113.${n}`);
    await settled();
    assert.equal(fetched.filter(isSlow).length, 32);
    await clients.find(CLIENT, USER);
    answerSlowOnes();
    await naming;
    for (let n = 0; n < 40; n += 1) await name(20, `many-${n}`, (at) => `203.0.113.${at}`);
    await clients.find(CLIENT, USER);
    assert.equal(fetchesOf(CLIENT), 2);
  });

  test('is told apart from a client that came to be in use at another replica, when it is asked for anew', async () => {
    const other = startAnew();
    await Promise.all([clients.find(CLIENT, USER), other.find(CLIENT, USER)]);
    clients.markInUse(CLIENT);
    await settled();
    clock.advance(MINUTE);
    const naming = nameWith(other, 100, 'slow', (n) => `203.0.113.${n}`);
    await settled();
    await other.find(CLIENT, USER);
    assert.equal(fetchesOf(CLIENT), 3);
    answerSlowOnes();
    await naming;
  });

  test('displaces the documents of others, and none of a client in use', async () => {
    await Promise.all([clients.find(CLIENT, USER), clients.find(`${CLIENT}?unused`, USER)]);
    clients.markInUse(CLIENT);
    for (let n = 0; n < 200; n += 1)
      assert.deepEqual(refused(await name(20, `many-${n}`, (at) => `203.0.113.${at}`)), []);
    await Promise.all([clients.find(CLIENT, USER), clients.find(`${CLIENT}?unused`, USER)]);
    assert.deepEqual([fetchesOf(CLIENT), fetchesOf(`${CLIENT}?unused`)], [1, 2]);
  });

  test('has no more fetched than its address may, and is told when to come back', async () => {
    admitted = 3;
    const failures = refused(await name(8, 'quick'));
    assert.equal(failures.length, 5);
    assert.deepEqual(
      failures.map((failure) => failure instanceof ClientError && [failure.statusCode, failure.retryAfterSeconds]),
      Array.from({ length: 5 }, () => [503, 2]),
    );
    assert.equal(fetched.length, 3);
  });

  test('that name keys elsewhere causes no more requests than its address may, those for the keys included', async () => {
    admitted = 3;
    answerSlowOnes();
    const failures = refused(await name(2, 'keys-at'));
    assert.deepEqual(
      failures.map((failure) => failure instanceof ClientError && [failure.statusCode, failure.retryAfterSeconds]),
      [[503, 2]],
    );
    assert.equal(fetched.length, 3);
  });

  test('uses up nothing of a client in use, whose fetches are not counted', async () => {
    admitted = 1;
    await clients.find(CLIENT, USER);
    clients.markInUse(CLIENT);
    await name(8, 'quick');
    clock.advance(MINUTE);
    await clients.find(CLIENT, USER);
    assert.equal(fetchesOf(CLIENT), 2);
  });

  test('cannot make a document count as in use by naming it', async () => {
    clients.markInUse('https://many-0.example/client.json');
    await clients.find('https://many-0.example/client.json', STRANGER);
    await name(600, 'further', (n) => `203.0.113.${n % 100}`);
    for (let n = 0; n < 30; n += 1) await name(20, `filling-${n}`, (at) => `203.0.113.${at}`);
    await clients.find('https://many-0.example/client.json', STRANGER);
    assert.equal(fetchesOf('https://many-0.example/client.json'), 2);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../../runtime/store/index.ts';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { codeIn, REDIRECT, registerClient, type TestClient } from '../../fixtures/signing-in.ts';

type CreateMap = Parameters<Store['createMap']>;

/** Requests of clients that wait for their users. */
const WAITING = /(^|:)Interaction(OfUser)?:/;
const inject = { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } };

const isBack = ({ href }: URL): boolean => href.startsWith(REDIRECT);

describe('strangers, who have not signed in', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  let client: TestClient;
  let store: Store | undefined;
  /** The maps that the gateway has made in a quota group, the last one at the end. */
  const made: CreateMap[] = [];
  let areRequestsGone = false;
  const replaced: string[] = [];
  const storeSeen = (opened: Store): Store => {
    store = opened;
    const createMap: Store['createMap'] = (...how) => {
      if (how[3]) made.push(how);
      return opened.createMap(...how);
    };
    const readMap: Store['readMap'] = async (key, ...how) =>
      areRequestsGone && WAITING.test(key) ? undefined : opened.readMap(key, ...how);
    const replaceField: Store['replaceField'] = (key, ...how) => {
      replaced.push(key);
      return opened.replaceField(key, ...how);
    };
    return { ...opened, createMap, readMap, replaceField };
  };
  before(async () => {
    gateway = await startAuthServer({
      storeSeen,
      more: { outgoingAuth: { source: 'inline', backends: { a: inject } } },
    });
    client = await registerClient(gateway);
  });
  after(() => gateway.stop());

  /** What authorization requests of strangers do that come after this one, as many as there may be. */
  const displace = async ([, fields, ttlMs, group]: CreateMap): Promise<void> => {
    for (let at = 0; at < (group?.limit ?? 0); at += 1)
      await store?.createMap(`${group?.name ?? ''}:stranger-${at}`, fields, ttlMs, group);
  };

  test('who displace the request of a client leave no consent behind: its user has agreed to nothing', async () => {
    const browser = gateway.browser();
    const page = await browser.open(client.authorizationUrl());
    assert.match(page.text, /\(new\)/);
    areRequestsGone = true;
    replaced.length = 0;
    const answer = await browser.press(page, 'approve');
    areRequestsGone = false;
    assert.match(answer.text, /Start again/);
    assert.deepEqual(replaced, []);
    assert.match((await browser.open(client.authorizationUrl())).text, /\(new\)/);
  });

  test('displace no login that waits for its user at the page of consent', async () => {
    const browser = gateway.browser();
    const from = made.length;
    const page = await browser.open(client.authorizationUrl());
    assert.equal(page.url.pathname, '/oauth/consent');
    const begun = made.slice(from).find(([key]) => WAITING.test(key));
    assert.ok(begun, 'the request of the client');
    await displace(begun);
    const back = await browser.press(page, 'approve', { stopAt: isBack });
    assert.equal((await client.redeem(codeIn(back.url))).status, 200);
  });
});

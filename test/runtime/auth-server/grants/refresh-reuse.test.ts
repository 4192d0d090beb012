import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redeem, refresh, refreshTokenOf, signIn, type TokenAnswer } from './client.ts';
import { RESOURCE } from './provider.ts';
import { onTwoReplicas } from './two-replicas.ts';

const assertRefused = ({ status, body }: TokenAnswer): void =>
  assert.deepEqual([status, body['error']], [400, 'invalid_grant']);

const assertWorks = (answer: TokenAnswer): TokenAnswer => {
  assert.equal(answer.status, 200, answer.text);
  return answer;
};

onTwoReplicas('a refresh token', (replicas) => {
  const signedIn = async (user = 'alice'): Promise<string> =>
    refreshTokenOf(assertWorks(await signIn(replicas().a, { user, replicas: [replicas().a, replicas().b] })));

  test('is replaced by another one, with which it goes on', async () => {
    const { a, b } = replicas();
    const first = await signedIn();
    const second = refreshTokenOf(assertWorks(await refresh(a, first)));
    const third = refreshTokenOf(assertWorks(await refresh(b, second)));
    assert.equal(new Set([first, second, third]).size, 3);
  });

  test('gets the same answer 50 ms and 5 s later, at any replica, and ends its family after the window', async () => {
    const { a, b, clock } = replicas();
    const first = await signedIn();
    const answer = assertWorks(await refresh(a, first));
    clock.advance(50);
    const soon = assertWorks(await refresh(b, first));
    clock.advance(4_950);
    const later = assertWorks(await refresh(a, first));
    for (const again of [soon, later])
      assert.equal(
        again.text,
        answer.text.replace('"expires_in":3600', `"expires_in":${String(again.body['expires_in'])}`),
      );
    assert.deepEqual([soon.body['expires_in'], later.body['expires_in']], [3_599, 3_595]);
    clock.advance(10_000);
    assertRefused(await refresh(b, first));
    for (const replica of [a, b]) assertRefused(await refresh(replica, refreshTokenOf(answer)));
  });

  test('gets the same answer at replicas whose clocks are minutes ahead and behind, and not after the window', async () => {
    const { a, clock, another } = replicas();
    const skewed = (ms: number): Promise<string> => another({ clock: { ...clock, now: () => clock.now() + ms } });
    const [ahead, behind] = [await skewed(300_000), await skewed(-300_000)];
    clock.advance(600_000);
    for (const [here, there] of [
      [a, ahead],
      [ahead, a],
      [a, behind],
      [behind, a],
    ] as const) {
      const first = await signedIn();
      const second = refreshTokenOf(assertWorks(await refresh(here, first)));
      clock.advance(5_000);
      assert.equal(refreshTokenOf(assertWorks(await refresh(there, first))), second);
      const third = refreshTokenOf(assertWorks(await refresh(there, second)));
      assert.equal(refreshTokenOf(assertWorks(await refresh(here, second))), third);
      clock.advance(15_001);
      assertRefused(await refresh(there, second));
      assertRefused(await refresh(here, third));
    }
  });

  test('leads into the family within the window even when its successor has been replaced already', async () => {
    const { a, b, clock } = replicas();
    const first = await signedIn();
    const second = refreshTokenOf(assertWorks(await refresh(a, first)));
    const third = refreshTokenOf(assertWorks(await refresh(a, second)));
    clock.advance(5_000);
    assert.equal(refreshTokenOf(assertWorks(await refresh(b, first))), second);
    assert.equal(refreshTokenOf(assertWorks(await refresh(b, second))), third);
  });

  test('that many clients send at the same moment to both replicas gets them one successor', async () => {
    const { a, b } = replicas();
    const first = await signedIn();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => refresh(at % 2 ? a : b, first)));
    assert.equal(new Set(answers.map(({ text }) => assertSame(text))).size, 1);
    assertWorks(await refresh(b, refreshTokenOf(assertWorks(answers[0] as TokenAnswer))));
  });

  test('asked for another scope within the window gets another access token beside the same successor', async () => {
    const { a, b } = replicas();
    const first = await signedIn();
    const wide = assertWorks(await refresh(a, first));
    const narrow = assertWorks(await refresh(b, first, { scope: 'read', resource: RESOURCE }));
    assert.deepEqual([wide.body['scope'], narrow.body['scope']], ['read write', 'read']);
    assert.equal(refreshTokenOf(narrow), refreshTokenOf(wide));
    assert.notEqual(narrow.body['access_token'], wide.body['access_token']);
  });

  test('ends its family however many others have replaced it since', async () => {
    const { a, b, clock } = replicas();
    const first = await signedIn();
    let newest = first;
    for (let time = 0; time < 12; time += 1) {
      newest = refreshTokenOf(assertWorks(await refresh(time % 2 ? a : b, newest)));
      clock.advance(3_600_000);
    }
    assertRefused(await refresh(b, first));
    assertRefused(await refresh(a, newest));
  });

  test('of one family ends no other', async () => {
    const { a, clock } = replicas();
    const [stolen, other] = [await signedIn('bob'), await signedIn('bob')];
    assertWorks(await refresh(a, stolen));
    clock.advance(60_000);
    assertRefused(await refresh(a, stolen));
    assertWorks(await refresh(a, other));
  });

  test('that another client presents starts nothing', async () => {
    const { a, b, clock } = replicas();
    const first = await signedIn();
    assertRefused(await refresh(a, first, { client: 'second' }));
    const second = refreshTokenOf(assertWorks(await refresh(b, first)));
    assertRefused(await refresh(a, first, { client: 'second' }));
    clock.advance(60_000);
    assertRefused(await refresh(a, first, { client: 'second' }));
    assertWorks(await refresh(b, second));
  });

  test('that was never issued is refused, and ends no family that it does not name', async () => {
    const { a } = replicas();
    const real = await signedIn();
    for (const forged of ['', 'x', 'x'.repeat(65), 'x'.repeat(5_000), `${'x'.repeat(22)}${real.slice(22)}`])
      assert.equal((await refresh(a, forged)).status, 400);
    assertWorks(await refresh(a, real));
  });

  test('guessed by somebody who has seen another one of the family ends that family', async () => {
    const { a } = replicas();
    const real = await signedIn();
    assertRefused(await refresh(a, real.slice(0, 22) + 'x'.repeat(43)));
    assertRefused(await refresh(a, real));
  });

  test('whose window is turned off ends its family at its second use, whoever comes second', async () => {
    const { another } = replicas();
    const strict = await another({ refreshReuseWindowMs: 0 });
    const first = refreshTokenOf(await signIn(strict));
    const second = refreshTokenOf(assertWorks(await refresh(strict, first)));
    assertRefused(await refresh(strict, first));
    assertRefused(await refresh(strict, second));

    const raced = refreshTokenOf(await signIn(strict));
    const answers = await Promise.all([refresh(strict, raced), refresh(strict, raced)]);
    assert.ok(answers.some(({ status }) => status === 400));
    for (const { status, body } of answers)
      if (status === 200) assertRefused(await refresh(strict, String(body['refresh_token'])));
  });

  test('of a client in a loop is not replaced for a while, and works all the time', async () => {
    const { a, b, clock } = replicas();
    let token = await signedIn();
    const seen = new Set<string>();
    for (let time = 0; time < 505; time += 1) {
      token = refreshTokenOf(assertWorks(await refresh(time % 2 ? a : b, token)));
      seen.add(token);
    }
    assert.equal(seen.size, 500);
    clock.advance(10 * 60_000);
    const next = refreshTokenOf(assertWorks(await refresh(a, token)));
    assert.notEqual(next, token);
    clock.advance(60_000);
    assertRefused(await refresh(b, token));
  });

  test('is not spent by a request that fails', async () => {
    const { a, b, clock } = replicas();
    const first = await signedIn();
    const refused = await refresh(a, first, { scope: 'admin' });
    assert.deepEqual([refused.status, refused.body['error']], [400, 'invalid_scope']);
    clock.advance(60_000);
    assertWorks(await refresh(b, first));
  });

  test('is never a code', async () => {
    const { a } = replicas();
    const first = await signedIn();
    assertRefused(await redeem(a, first));
    assertWorks(await refresh(a, first));
  });
});

/** Without the one member that tells the time. */
const assertSame = (text: string): string => text.replace(/"expires_in":\d+/, '');

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  MAX_CLIENT_ID_CHARACTERS,
  type RegisteredClient,
  sealedClientIds,
} from '../../../../runtime/auth-server/clients/sealed-client-id.ts';
import { headOf, SECRET_SPREAD_MS, sealingKeys } from '../../../../runtime/auth-server/keys/sealing-keys.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { ISSUER, sealing, secretOf } from '../../../fixtures/oauth-clients.ts';

const [first, second] = [secretOf('first'), secretOf('second')];

const CURSOR: RegisteredClient = {
  redirectUris: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  clientName: 'Cursor',
  scopes: ['openid', 'files.read'],
  mayRefresh: true,
  authMethod: 'none',
  issuedAt: 1_767_225_600,
};

const idsOf = (...secrets: readonly Buffer[]) => sealedClientIds(ISSUER, sealing(...secrets));

/** When what was sealed by `idsOf` was not sealed lately: a secret that is not there does not come any more. */
const laterIdsOf = (...secrets: readonly Buffer[]) =>
  sealedClientIds(ISSUER, { ...sealing(...secrets), clock: frozenClock(Date.UTC(2026, 0, 1) + SECRET_SPREAD_MS) });

const idOf = async (client: RegisteredClient = CURSOR, secret = first): Promise<string> =>
  (await idsOf(secret).seal(client))?.clientId ?? assert.fail('too long');

describe('a sealed client id', () => {
  test('holds the whole registration', async () => {
    const opened = await idsOf(first).open(await idOf());
    assert.deepEqual(opened?.registration, CURSOR);
    assert.equal(opened?.clientSecret, undefined);
  });

  test('holds what a client left out as left out', async () => {
    const client = { ...CURSOR, clientName: undefined, scopes: undefined, mayRefresh: false };
    assert.deepEqual((await idsOf(first).open(await idOf(client)))?.registration, client);
  });

  test('shows nothing of the registration, and is another one each time', async () => {
    const [one, other] = [await idOf(), await idOf()];
    assert.notEqual(one, other);
    assert.doesNotMatch(Buffer.from(one, 'base64url').toString('latin1'), /cursor|localhost/i);
  });

  test('has only characters that need no escape in a URL, a form and an Authorization header', async () => {
    assert.match(await idOf(), /^c1-[A-Za-z0-9_-]+$/);
  });

  test('of a usual client is short', async () => {
    assert.ok((await idOf()).length < 260);
  });

  test('is not made where it would be too long', async () => {
    const redirectUris = Array.from(
      { length: 16 },
      (_, at) =>
        `https://host-${at}.example/${secretOf(`${at}`).toString('hex').repeat(2)}${secretOf(`+${at}`).toString('base64url')}`,
    );
    assert.equal(await idsOf(first).seal({ ...CURSOR, redirectUris }), undefined);
  });

  test('opens under each secret, and is sealed with the first', async () => {
    const ids = idsOf(second, first);
    assert.deepEqual((await ids.open(await idOf()))?.registration, CURSOR);
    const anew = (await ids.seal(CURSOR))?.clientId ?? '';
    assert.ok(await idsOf(second).open(anew));
    assert.equal(await laterIdsOf(first).open(anew), undefined);
  });

  test('does not open once its secret is gone', async () => {
    assert.equal(await laterIdsOf(second).open(await idOf()), undefined);
    assert.equal(await laterIdsOf().open(await idOf()), undefined);
  });

  test('of a secret that is not there is no unknown one for three minutes, nor is one of the future', async () => {
    const id = await idOf();
    for (const [afterMs, isUnknown] of [
      [0, false],
      [SECRET_SPREAD_MS - 1, false],
      [SECRET_SPREAD_MS, true],
      [1 - SECRET_SPREAD_MS, false],
      [-SECRET_SPREAD_MS, true],
    ] as const) {
      const clock = frozenClock(Date.UTC(2026, 0, 1) + afterMs);
      const opening = sealedClientIds(ISSUER, { ...sealing(second), clock }).open(id);
      if (isUnknown) assert.equal(await opening, undefined, `${afterMs}`);
      else await assert.rejects(opening, { statusCode: 503, retryAfterSeconds: 10 }, `${afterMs}`);
      const alone = sealedClientIds(ISSUER, { ...sealing(second), clock, isShared: false });
      assert.equal(await alone.open(id), undefined, `${afterMs}, where there is no other replica`);
    }
  });

  test('of another issuer does not open, even under the same secret', async () => {
    for (const issuer of [`${ISSUER}/`, 'https://other.example.com', ''])
      assert.equal(await sealedClientIds(issuer, sealing(first)).open(await idOf()), undefined);
  });

  test('does not open truncated, extended, or in another spelling', async () => {
    const id = await idOf();
    const ids = idsOf(first);
    for (let length = 0; length < id.length; length += 1) assert.equal(await ids.open(id.slice(0, length)), undefined);
    const spellings = [`${id}A`, `${id}=`, `${id}==`, ` ${id}`, `${id}\n`, id.replace('c1-', 'c2-'), id.toUpperCase()];
    for (const other of spellings) assert.equal(await ids.open(other), undefined, other);
    const standard = id.slice(3).replaceAll('-', '+').replaceAll('_', '/');
    if (standard !== id.slice(3)) assert.equal(await ids.open(`c1-${standard}`), undefined);
  });

  test('does not open with any one bit changed', async () => {
    const id = await idOf();
    const bytes = Buffer.from(id.slice(3), 'base64url');
    const ids = laterIdsOf(first);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(await ids.open(`c1-${changed.toString('base64url')}`), undefined, `bit ${bit}`);
    }
  });

  test('is not made of the parts of two others', async () => {
    const [one, other] = [await idOf(), await idOf({ ...CURSOR, redirectUris: ['https://evil.example/'] })].map((id) =>
      Buffer.from(id.slice(3), 'base64url'),
    ) as [Buffer, Buffer];
    for (const cut of [12, 24, one.length - 16]) {
      const mixed = Buffer.concat([one.subarray(0, cut), other.subarray(cut)]);
      assert.equal(await laterIdsOf(first).open(`c1-${mixed.toString('base64url')}`), undefined);
    }
  });

  test('keeps every registration that fits, whatever its texts', async () => {
    const word = fc.stringMatching(/^[!#-[\]-~]{1,40}$/);
    const registration = fc.record({
      redirectUris: fc.array(fc.webUrl(), { minLength: 1, maxLength: 16 }),
      clientName: fc.option(fc.string({ minLength: 1, unit: 'binary' }), { nil: undefined }),
      scopes: fc.option(fc.array(word, { minLength: 1, maxLength: 20 }), { nil: undefined }),
      mayRefresh: fc.boolean(),
      authMethod: fc.constantFrom('none' as const, 'client_secret_basic' as const, 'client_secret_post' as const),
      issuedAt: fc.nat(),
    });
    const ids = idsOf(first);
    await fc.assert(
      fc.asyncProperty(registration, async (client) => {
        const sealed = await ids.seal({ ...client });
        if (!sealed) return;
        assert.ok(sealed.clientId.length <= MAX_CLIENT_ID_CHARACTERS);
        assert.deepEqual(await ids.open(sealed.clientId), sealed);
      }),
    );
  });

  test('takes any text for an id without failing', async () => {
    const ids = laterIdsOf(first);
    const [key] = await sealingKeys('client id', { secrets: async () => [first], boundTo: () => ISSUER })();
    assert.ok(key);
    const head = headOf(key, Date.UTC(2026, 0, 1));
    const bytes = fc.uint8Array({ maxLength: 1_600 }).map((body) => `c1-${Buffer.from(body).toString('base64url')}`);
    const headed = fc
      .uint8Array({ maxLength: 400 })
      .map((body) => `c1-${Buffer.concat([head, body]).toString('base64url')}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes, headed, fc.string({ unit: 'binary' })), async (text) => {
        assert.equal(await ids.open(text), undefined);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the secret of a confidential client', () => {
  const confidential = { ...CURSOR, authMethod: 'client_secret_basic' } as const;

  test('follows from its id, so that it needs no store', async () => {
    const sealed = await idsOf(first).seal(confidential);
    assert.match(sealed?.clientSecret ?? '', /^[A-Za-z0-9_-]{43}$/);
    assert.equal((await idsOf(second, first).open(sealed?.clientId ?? ''))?.clientSecret, sealed?.clientSecret);
  });

  test('is another one for each id', async () => {
    const [one, other] = [await idsOf(first).seal(confidential), await idsOf(first).seal(confidential)];
    assert.notEqual(one?.clientSecret, other?.clientSecret);
  });
});

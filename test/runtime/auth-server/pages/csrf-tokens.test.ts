import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveKey } from '../../../../runtime/auth-server/keys/secrets.ts';
import { csrfTokens } from '../../../../runtime/auth-server/pages/csrf-tokens.ts';
import { ISSUER, secretOf } from '../../../fixtures/oauth-clients.ts';

const [first, second] = [secretOf('first'), secretOf('second')];

const tokensOf = (secrets: readonly Buffer[], issuer = ISSUER) =>
  csrfTokens({ secrets: async () => secrets, deriveKey, issuer });

test('a token is good for one browser and one form', async () => {
  const tokens = tokensOf([first]);
  const token = await tokens.issue('browser', 'form');
  assert.equal(await tokens.isValid(token, 'browser', 'form'), true);
  for (const [browser, form] of [
    ['other', 'form'],
    ['browser', 'other'],
    ['form', 'browser'],
    ['', 'browserform'],
  ] as const)
    assert.equal(await tokens.isValid(token, browser, form), false);
});

test('a token is valid as long as one of the secrets is that it was made with', async () => {
  const token = await tokensOf([first]).issue('browser', 'form');
  assert.equal(await tokensOf([second, first]).isValid(token, 'browser', 'form'), true);
  assert.equal(await tokensOf([second]).isValid(token, 'browser', 'form'), false);
  assert.equal(await tokensOf([]).isValid(token, 'browser', 'form'), false);
});

test('a token of another issuer is none, also under the same secret', async () => {
  const token = await tokensOf([first]).issue('browser', 'form');
  assert.equal(await tokensOf([first], `${ISSUER}/other`).isValid(token, 'browser', 'form'), false);
});

test('anything else is no token', async () => {
  const tokens = tokensOf([first]);
  const token = await tokens.issue('browser', 'form');
  for (const text of [undefined, '', 'x', `${token}AAAA`, token.slice(0, -4), token.toUpperCase()])
    assert.equal(await tokens.isValid(text, 'browser', 'form'), false, text);
});

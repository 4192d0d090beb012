import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../runtime/config/index.ts';
import { proxyWarnings, upstreamWarnings } from '../../../runtime/config/upstream-warnings.ts';
import { providerConfig } from '../../fixtures/upstreams.ts';
import { check } from './files.ts';

const endpoints = { authorizationEndpoint: 'https://o.example/authorize', tokenEndpoint: 'https://o.example/token' };
const provider = (more: object) => ({
  name: 'o',
  type: 'oauth2',
  oauth2Config: { ...endpoints, clientId: 'c', ...more },
});
const ISSUER = 'https://as.example';
const file = (more: object) => ({
  incomingAuth: { type: 'oidc', oidc: { issuer: ISSUER, audience: 'tools', clientId: 'vmcp' } },
  authServer: { issuer: ISSUER, upstreamProviders: [provider(more)] },
});
const headers = (additionalHeaders: object) =>
  file({ userInfo: { endpointUrl: 'https://o.example/me', additionalHeaders } });
const path = (subjectPath: string) => file({ identityFromToken: { subjectPath } });
const at = (rest: string) => `authServer.upstreamProviders[0].oauth2Config.${rest}`;

test('additional headers of a userinfo request are headers, and none that the request has itself', () => {
  const inHeaders = (name: string, reason: string) => at(`userInfo.additionalHeaders.${name}: ${reason}`);
  check({
    accepts: [headers({ Accept: 'application/vnd.github+json', 'X-Api-Version': '2022-11-28' })],
    refuses: [
      [headers({ Host: 'x' }), inHeaders('Host', 'Host belongs to the request itself')],
      [headers({ authorization: 'x' }), inHeaders('authorization', 'authorization belongs to the request itself')],
      [headers({ 'Content-Length': '1' }), /Content-Length.*belongs to the request itself/],
      [headers({ 'a b': 'x' }), /no header name/],
      [headers({ 'X-A': 'a\nb' }), /not a header value/],
    ],
  });
  const userInfoOverride = { endpointUrl: 'https://o.example/me', additionalHeaders: { Host: 'x' } };
  const oidcConfig = { issuerUrl: 'https://o.example', clientId: 'c', userInfoOverride };
  const upstreamProviders = [{ name: 'o', type: 'oidc', oidcConfig }];
  check({
    refuses: [[{ ...file({}), authServer: { issuer: ISSUER, upstreamProviders } }, /oidcConfig.*Host belongs/]],
  });
});

test('paths into a token response have the one modifier that there is', () => {
  const refusal = (modifier: string) => at(`identityFromToken.subjectPath: there is no modifier ${modifier}`);
  check({
    accepts: [
      path('access_token|@upstreamjwt|sub'),
      path('a.@upstreamjwt.b'),
      path(String.raw`a.\@type`),
      path('a@b.c'),
    ],
    refuses: [
      [path('access_token|@jwt|sub'), refusal('@jwt')],
      [path('@this.sub'), refusal('@this')],
      [path('a|@upstreamjwt2'), refusal('@upstreamjwt2')],
      [
        file({ tokenResponseMapping: { accessTokenPath: 'a.@first' } }),
        at('tokenResponseMapping.accessTokenPath: there is no modifier @first'),
      ],
    ],
  });
});

const warned = (written: object): readonly string[] => {
  const authServer = { upstreamProviders: [providerConfig(written)] };
  return [...upstreamWarnings({ authServer } as unknown as Config)].map((line) => line.replace(/^[^.]*\.[^.]*\./, ''));
};

test('validate warns that users share the budgets of one address behind a proxy that is not named', () => {
  const warnedOf = (issuer: string, trustedProxies: readonly string[]): string =>
    [...proxyWarnings({ authServer: { issuer }, extensions: { trustedProxies } } as unknown as Config)].join();
  assert.match(warnedOf('https://mcp.example.com', []), /^extensions\.trustedProxies: /);
  assert.equal(warnedOf('https://mcp.example.com', ['10.0.0.0/8']), '');
  assert.equal(warnedOf('http://localhost:4483', []), '');
});

test('validate warns of providers whose sign-ins can only fail, and of a secret without effect', () => {
  const oidc = (more: object) => ({
    type: 'oidc',
    oidcConfig: { issuerUrl: 'https://o.example', clientId: 'c', ...more },
  });
  const userInfoOverride = { endpointUrl: 'https://o.example/me' };
  assert.deepEqual(warned(oidc({})), []);
  assert.deepEqual(warned(oidc({ scopes: ['email'], userInfoOverride })), []);
  assert.match(warned(oidc({ scopes: ['email'] })).join(), /^oidcConfig\.scopes: without openid/);
  const entra = (tenant: string) => warned(oidc({ issuerUrl: `https://login.microsoftonline.com/${tenant}/v2.0` }));
  for (const alias of ['common', 'organizations', 'consumers'])
    assert.match(entra(alias).join(), /^oidcConfig\.issuerUrl: many tenants share this address/);
  assert.deepEqual(entra('11111111-2222-3333-4444-555555555555'), []);
  assert.deepEqual(warned(provider({ tokenEndpoint: 'http://127.0.0.1:1/token' })), []);
  assert.match(
    warned(provider({ tokenEndpoint: 'http://o.example/token' })).join(),
    /^oauth2Config\.tokenEndpoint: without TLS/,
  );
  const dcrConfig = { discoveryUrl: 'https://o.example/metadata' };
  assert.match(
    warned(provider({ clientId: undefined, clientSecretFile: '/s', dcrConfig })).join(),
    /^oauth2Config\.clientSecretFile: has no effect/,
  );
});

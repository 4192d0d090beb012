import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { destinationOf, redirectUriRefusal } from '../../../../runtime/auth-server/clients/redirect-uris.ts';

describe('a redirect URI is taken', () => {
  const taken: readonly (readonly [string, ReturnType<typeof destinationOf>])[] = [
    ['https://claude.ai/api/mcp/auth_callback', { kind: 'site', host: 'claude.ai' }],
    ['https://agent.example:8443/cb?tenant=a&x=%20', { kind: 'site', host: 'agent.example:8443' }],
    ['https://xn--bcher-kva.example/', { kind: 'site', host: 'xn--bcher-kva.example' }],
    ['https://10.0.0.5/oauth/callback', { kind: 'site', host: '10.0.0.5' }],
    ['https://agent.example', { kind: 'site', host: 'agent.example' }],
    ['http://localhost', { kind: 'loopback', host: 'localhost' }],
    ['http://localhost:3118/callback', { kind: 'loopback', host: 'localhost' }],
    ['http://LOCALHOST:1/', { kind: 'loopback', host: 'localhost' }],
    ['http://127.0.0.1:33418/', { kind: 'loopback', host: '127.0.0.1' }],
    ['http://[::1]:8000/cb?x', { kind: 'loopback', host: '[::1]' }],
    ['cursor://anysphere.cursor-mcp/oauth/callback', { kind: 'private-use', scheme: 'cursor' }],
    ['com.example.app:/oauth2redirect', { kind: 'private-use', scheme: 'com.example.app' }],
    ['ms-appx-web://microsoft.aad.brokerplugin/1', { kind: 'private-use', scheme: 'ms-appx-web' }],
    ['VSCode-Insiders://x/y', { kind: 'private-use', scheme: 'vscode-insiders' }],
  ];
  for (const [uri, destination] of taken) {
    test(uri, () => {
      assert.equal(redirectUriRefusal(uri), undefined);
      assert.deepEqual(destinationOf(uri), destination);
    });
  }
});

describe('a redirect URI is refused', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /characters|absolute/],
    ['/callback', /absolute/],
    ['callback', /absolute/],
    ['https://agent.example/cb#part', /fragment/],
    ['https://agent.example/cb#', /fragment/],
    ['cursor://x#part', /fragment/],
    ['https://*.example/cb', /wildcard/],
    ['https://agent.example/*', /wildcard/],
    ['http://localhost:*/cb', /absolute|wildcard/],
    ['https://user@agent.example/cb', /user information/],
    ['https://user:password@agent.example/cb', /user information/],
    ['https://@agent.example/cb', /user information/],
    ['https://claude.ai@evil.example/cb', /user information/],
    ['cursor://user@host/cb', /user information/],
    ['javascript:alert(1)', /javascript:/],
    ['JavaScript://x/%0aalert(1)', /javascript:/],
    ['data:text/html,x', /data:/],
    ['file:///etc/passwd', /file:/],
    ['vbscript:x', /vbscript:/],
    ['blob:https://agent.example/1', /blob:/],
    ['about:blank', /about:/],
    ['ws://localhost/', /ws:/],
    ['view-source:https://agent.example/', /view-source:/],
    ['feed:javascript:alert(1)', /feed:/],
    ['smb://evil.example/share', /smb:/],
    ['ldap://evil.example/', /ldap:/],
    ['ssh://evil.example', /ssh:/],
    ['shell:startup', /shell:/],
    ['ms-settings:', /ms-settings:/],
    ['ms-word:ofe|u|https://evil.example/a.doc', /characters/],
    ['ms-word:https://evil.example/a.doc', /ms-word:/],
    ['intent://agent.example/#Intent;end', /fragment/],
    ['intent://agent.example/', /intent:/],
    ['http://agent.example/cb', /localhost/],
    ['http://localhost.evil.example/cb', /localhost/],
    ['http://localhost@evil.example/cb', /user information/],
    ['http://127.0.0.1.evil.example/cb', /localhost/],
    ['http://127.1/cb', /localhost/],
    ['http://0x7f000001/cb', /localhost/],
    ['http://2130706433/cb', /localhost/],
    ['http://0.0.0.0/cb', /localhost/],
    ['http://127.0.0.2/cb', /localhost/],
    ['http://[::ffff:127.0.0.1]/cb', /localhost/],
    ['http://localhost:99999/cb', /absolute/],
    ['http:/localhost/cb', /localhost/],
    ['http:localhost/cb', /localhost/],
    ['https:/agent.example/cb', /names no host/],
    ['https:agent.example/cb', /names no host/],
    ['https:///agent.example/cb', /names no host/],
    ['https://localhost/cb', /http:\/\//],
    ['https://127.0.0.1/cb', /http:\/\//],
    ['https:\\\\evil.example/cb', /characters/],
    ['https://agent.example\\@evil.example/cb', /characters/],
    ['https://agent.example/c b', /characters/],
    ['https://agent.example/c\tb', /characters/],
    ['https://agent.example/cb\n', /characters/],
    ['https://bücher.example/cb', /characters/],
    ['https://agent.example/<script>', /characters/],
    ['https://agent.example/"onload=', /characters/],
    [`https://agent.example/${'x'.repeat(1_024)}`, /longer than 1024/],
  ];
  for (const [uri, reason] of refused) {
    test(JSON.stringify(uri.slice(0, 60)), () => {
      assert.match(redirectUriRefusal(uri) ?? 'taken', reason);
    });
  }
});

test('what is taken leads a browser to a site over TLS, to loopback, or to a scheme that no browser acts on', () => {
  const part = fc.constantFrom(
    'http:',
    'https:',
    'javascript:',
    'data:',
    'cursor:',
    '//',
    '/',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '*',
    '.',
    'localhost',
    '127.0.0.1',
    '[::1]',
    'evil.example',
    '%2f',
    '\t',
    '\n',
    ' ',
    '80',
    'a',
  );
  const uri = fc.oneof(
    fc.array(part, { maxLength: 10 }).map((parts) => parts.join('')),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string(),
  );
  fc.assert(
    fc.property(uri, (text) => {
      if (redirectUriRefusal(text) !== undefined) return;
      const url = new URL(text);
      assert.equal(url.hash, '');
      assert.equal(url.username, '');
      if (url.protocol === 'http:') assert.ok(['localhost', '127.0.0.1', '[::1]'].includes(url.hostname), text);
      else if (url.protocol === 'https:') assert.equal(destinationOf(text).kind, 'site');
      else assert.ok(!['javascript:', 'data:', 'file:', 'vbscript:', 'blob:', 'about:'].includes(url.protocol), text);
    }),
    { numRuns: 3_000 },
  );
});

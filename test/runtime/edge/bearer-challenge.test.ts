import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { bearerChallenge } from '../../../runtime/edge/bearer-challenge.ts';

describe('a Bearer challenge', () => {
  const rows: readonly (readonly [string, Readonly<Record<string, string>> | undefined, string])[] = [
    ['says nothing more', undefined, 'Bearer'],
    ['has no parameters', {}, 'Bearer'],
    [
      'has its parameters in order',
      { error: 'invalid_token', scope: 'a b' },
      'Bearer error="invalid_token", scope="a b"',
    ],
    [
      'has a URL',
      { resource_metadata: 'https://a.example/.well-known/oauth-protected-resource/mcp' },
      'Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource/mcp"',
    ],
    ['ends no text by a quote', { scope: 'a", error="b' }, String.raw`Bearer scope="a\", error=\"b"`],
    ['ends no text by a backslash', { scope: 'a\\' }, String.raw`Bearer scope="a\\"`],
    ['begins no other header', { scope: 'a\r\nset-cookie: b=c\n\0\t\u007f' }, 'Bearer scope="aset-cookie: b=c"'],
    ['has ASCII only', { error_description: 'é→\u0085\u2028.' }, 'Bearer error_description="."'],
    ['has an empty text', { scope: '\n' }, 'Bearer scope=""'],
    ['has at most 2,048 characters of one', { scope: 'x'.repeat(2_049) }, `Bearer scope="${'x'.repeat(2_048)}"`],
    ['has none whose name is no token', { 'a b': 'c', 'd"': 'e', '': 'f', scope: 'g' }, 'Bearer scope="g"'],
    ['has none that is no text', JSON.parse('{"max_age":7,"scope":"a"}') as Record<string, string>, 'Bearer scope="a"'],
  ];
  for (const [what, parameters, text] of rows) test(what, () => assert.equal(bearerChallenge(parameters), text));

  test('is always one that HTTP takes', async (t) => {
    const all = String.fromCharCode(...Array.from({ length: 0x2_10 }, (_, code) => code));
    const server = createServer((_request, response) => {
      response.writeHead(401, { 'www-authenticate': bearerChallenge({ scope: all }) }).end();
    }).listen(0, '127.0.0.1');
    t.after(() => void server.close());
    await once(server, 'listening');
    const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    assert.equal(headers.get('www-authenticate')?.length, 'Bearer scope=""'.length + 95 + 2);
  });
});

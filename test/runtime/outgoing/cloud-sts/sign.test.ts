import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';
import * as fc from 'fast-check';
import * as undici from 'undici';
import { joined } from '../../../../runtime/json/index.ts';
import { canonicalTarget } from '../../../../runtime/outgoing/cloud-sts/canonical-request.ts';
import { authorizationOf, signedHeaders, unsendableHeader } from '../../../../runtime/outgoing/cloud-sts/sign.ts';
import { arrived, verifySigV4 } from '../../../fixtures/sigv4-verifier.ts';

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Of the test suite that AWS publishes for Signature Version 4. */
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SUITE_SCOPE = { region: 'us-east-1', service: 'service' };
const SUITE_DATE = '20150830T123600Z';
const SUITE_TOKEN =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';

interface Vector {
  readonly name: string;
  readonly method?: 'POST';
  readonly path?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string;
  readonly signature: string;
}

const VANILLA = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31';

const SUITE: readonly Vector[] = [
  {
    name: 'get-header-key-duplicate',
    headers: [
      ['My-Header1', 'value2'],
      ['My-Header1', 'value2'],
      ['My-Header1', 'value1'],
    ],
    signature: 'c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea',
  },
  {
    name: 'get-header-value-order',
    headers: [
      ['My-Header1', 'value4'],
      ['My-Header1', 'value1'],
      ['My-Header1', 'value3'],
      ['My-Header1', 'value2'],
    ],
    signature: '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  },
  {
    name: 'get-header-value-trim',
    headers: [
      ['My-Header1', ' value1'],
      ['My-Header2', ' "a   b   c"'],
    ],
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'get-unreserved',
    path: '/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    signature: '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  },
  {
    name: 'get-utf8',
    path: '/ሴ',
    signature: '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85',
  },
  { name: 'get-vanilla', signature: VANILLA },
  {
    name: 'get-vanilla-empty-query-key',
    path: '/?Param1=value1',
    signature: 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  },
  {
    name: 'get-vanilla-query-order-key',
    path: '/?Param1=value2&Param1=Value1',
    signature: 'eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    path: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-vanilla-query-order-value',
    path: '/?Param1=value2&Param1=value1',
    signature: '5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694',
  },
  {
    name: 'get-vanilla-utf8-query',
    path: '/?ሴ=bar',
    signature: '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  },
  { name: 'get-relative', path: '/example/..', signature: VANILLA },
  { name: 'get-relative-relative', path: '/example1/example2/../..', signature: VANILLA },
  { name: 'get-slash', path: '//', signature: VANILLA },
  { name: 'get-slash-dot-slash', path: '/./', signature: VANILLA },
  {
    name: 'get-slash-pointless-dot',
    path: '/./example',
    signature: 'ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5',
  },
  {
    name: 'get-slashes',
    path: '//example//',
    signature: '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84',
  },
  {
    name: 'get-space',
    path: '/example space/',
    signature: '652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-vanilla-query',
    method: 'POST',
    path: '/?Param1=value1',
    signature: '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11',
  },
  {
    name: 'post-header-key-sort',
    method: 'POST',
    headers: [['My-Header1', 'value1']],
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  {
    name: 'post-header-value-case',
    method: 'POST',
    headers: [['My-Header1', 'VALUE1']],
    signature: 'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    headers: [['Content-Type', 'application/x-www-form-urlencoded']],
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  {
    name: 'post-sts-header-before',
    method: 'POST',
    headers: [['X-Amz-Security-Token', SUITE_TOKEN]],
    signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  },
];

describe('the published test suite of Signature Version 4', () => {
  for (const { name, method = 'GET', path = '/', headers = [], body = '', signature } of SUITE)
    test(name, () => {
      const sent = [['Host', 'example.amazonaws.com'], ...headers, ['X-Amz-Date', SUITE_DATE]] as const;
      const authorization = authorizationOf({ method, path, headers: sent, bodyHash: sha256(body) }, KEY, {
        ...SUITE_SCOPE,
        time: SUITE_DATE,
      });
      const names = [...new Set(sent.map(([each]) => each.toLowerCase()))].toSorted().join(';');
      const scope = 'AKIDEXAMPLE/20150830/us-east-1/service/aws4_request';
      assert.equal(
        authorization,
        `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${names}, Signature=${signature}`,
      );
      const verdict = verifySigV4(
        { method, url: path, rawHeaders: [...sent.flat(), 'Authorization', authorization], body: Buffer.from(body) },
        {
          ...SUITE_SCOPE,
          keyOf: () => ({
            secret: KEY.secretAccessKey,
            ...(name.includes('sts') && { token: SUITE_TOKEN }),
          }),
          now: () => Date.parse('2015-08-30T12:36:00Z'),
          wantsBodyHash: false,
        },
      );
      assert.equal(verdict.ok, true, 'the verifier of these tests agrees');
    });
});

const CREDENTIAL = { accessKeyId: 'ASIAEXAMPLEEXAMPLE', secretAccessKey: 'secret+/', sessionToken: 'session+/==' };
const AT = Date.parse('2026-02-03T04:05:06.789Z');
const SCOPE = { region: 'eu-west-1', service: 'cloud-mcp', at: AT };
const request = {
  method: 'POST',
  path: '/mcp?b=2&a=%2F+x',
  host: 'mcp.example:8443',
  headers: ['content-type', 'application/json', 'mcp-session-id', 's 1', 'traceparent', '00-1-2-03'],
  body: Buffer.from('{}'),
} as const;

const asArrived = (headers: readonly string[], body: Buffer = request.body) => ({
  method: request.method,
  url: request.path,
  rawHeaders: ['host', request.host, ...headers],
  body,
});
const verifier = {
  region: SCOPE.region,
  service: SCOPE.service,
  keyOf: () => ({ secret: CREDENTIAL.secretAccessKey, token: CREDENTIAL.sessionToken }),
  now: () => AT,
};

describe('a signed request', () => {
  test('is signed over host, body and every header that is not changed on the way', () => {
    const verdict = verifySigV4(asArrived(signedHeaders(request, CREDENTIAL, SCOPE)), verifier);
    assert.ok(verdict.ok, JSON.stringify(verdict));
    assert.deepEqual(verdict.signed, [
      'content-type',
      'host',
      'mcp-session-id',
      'x-amz-content-sha256',
      'x-amz-date',
      'x-amz-security-token',
    ]);
  });

  test('does not verify with another body, host, path or header', () => {
    const headers = signedHeaders(request, CREDENTIAL, SCOPE);
    const arrived = asArrived(headers);
    const problems = [
      asArrived(headers, Buffer.from('[]')),
      { ...arrived, url: '/mcp?b=2&a=%2Fx' },
      { ...arrived, url: '/mcp/?b=2&a=%2F+x' },
      { ...arrived, method: 'DELETE' },
      { ...arrived, rawHeaders: arrived.rawHeaders.map((each) => (each === request.host ? 'evil.example' : each)) },
      { ...arrived, rawHeaders: arrived.rawHeaders.map((each) => (each === 's 1' ? 's 2' : each)) },
      { ...arrived, rawHeaders: arrived.rawHeaders.map((each) => (each === 'session+/==' ? 'session' : each)) },
    ].map((each) => verifySigV4(each, verifier).ok);
    assert.deepEqual(
      problems,
      problems.map(() => false),
    );
  });

  test('has no credential but this one', () => {
    const stale = [
      'Authorization',
      'Bearer x',
      'X-Amz-Date',
      '1',
      'X-AMZ-Security-Token',
      'y',
      'x-amz-content-sha256',
      'z',
    ];
    const headers = signedHeaders({ ...request, headers: [...stale, ...request.headers] }, CREDENTIAL, SCOPE);
    assert.deepEqual(headers, signedHeaders(request, CREDENTIAL, SCOPE));
  });

  test('with a body in pieces is signed as with the same body in one', () => {
    const pieces = [Buffer.alloc(40_000, 'a'), Buffer.from('b'), Buffer.alloc(60_000, 'c')];
    const body = joined(pieces);
    assert.ok('pieces' in body);
    const whole = Buffer.concat(pieces);
    assert.deepEqual(
      signedHeaders({ ...request, body }, CREDENTIAL, SCOPE),
      signedHeaders({ ...request, body: whole }, CREDENTIAL, SCOPE),
    );
    assert.ok(verifySigV4(asArrived(signedHeaders({ ...request, body }, CREDENTIAL, SCOPE), whole), verifier).ok);
  });

  test('gets another key on another day', () => {
    const DAY = 86_400_000;
    for (const at of [AT, AT + DAY, AT]) {
      const headers = signedHeaders(request, CREDENTIAL, { ...SCOPE, at });
      assert.ok(verifySigV4(asArrived(headers), { ...verifier, now: () => at }).ok);
    }
  });
});

describe('what is sent is what is signed', () => {
  const sent = (more: Partial<typeof request>) => ({ ...request, ...more });
  const verdictOf = (given: ReturnType<typeof sent>) => {
    const headers = signedHeaders(given, CREDENTIAL, SCOPE);
    return { headers, ...verifySigV4({ ...asArrived(headers), url: given.path }, verifier) };
  };

  test('in queries: bytes that are no UTF-8, and percent signs that encode nothing', () => {
    assert.equal(canonicalTarget('/?a=%ff')[1], 'a=%FF');
    assert.equal(canonicalTarget('/?a=%')[1], 'a=%25');
    assert.equal(canonicalTarget('/?a=%zz%41')[1], 'a=%25zzA');
    const part = fc.string({
      unit: fc.constantFrom('a', '%', 'f', 'F', '4', '%ff', '%C3%A9', '=', '&', '+', '~', 'é'),
    });
    fc.assert(fc.property(part, (query) => verdictOf(sent({ path: `/mcp?${query}` as never })).ok));
  });

  test('in headers: tabs and spaces as one space, and every other byte as it is', () => {
    const { headers, ok } = verdictOf(sent({ headers: ['x-a', ' a\t \tb  c\t', 'x-b', 'é\u00a0ÿ\u00a0'] as never }));
    assert.ok(ok);
    assert.deepEqual(headers.slice(0, 4), ['x-a', 'a b c', 'x-b', 'é\u00a0ÿ\u00a0']);
    const value = fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\u00a0', 'é', 'ÿ', '"', ',') });
    fc.assert(fc.property(value, (text) => verdictOf(sent({ headers: ['x-a', text] as never })).ok));
  });

  test('byte by byte, as it arrives at a server', async () => {
    const server = createServer((arriving, response) => {
      const verdict = verifySigV4(arrived(arriving, request.body), verifier);
      response.end(JSON.stringify(verdict));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const host = `127.0.0.1:${port}`;
    const path = '/mcp?a=%ff&b=%';
    const headers = signedHeaders({ ...request, host, path, headers: ['x-a', 'a\tb', 'x-b', 'é'] }, CREDENTIAL, SCOPE);
    const client = new undici.Client(`http://${host}`);
    const answer = await client.request({ path, method: 'POST', headers: [...headers], body: request.body });
    assert.match(await answer.body.text(), /"ok":true/);
    await client.close();
    server.close();
  });

  test('a character that is no byte is found before', () => {
    assert.equal(unsendableHeader(['x-a', 'é', 'X-B', 'ā']), 'X-B');
    assert.equal(unsendableHeader(['x-a', 'ÿ\t ~']), undefined);
  });
});

/** The hash that the official signer is given. */
class Sha256 {
  readonly #hash;
  constructor(secret?: unknown) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Buffer);
  }
  update(data: Uint8Array): void {
    this.#hash.update(data);
  }
  reset(): void {}
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
}

test('the signer of the official SDK and the verifier of these tests agree with it on any request', async () => {
  const official = new SignatureV4({
    credentials: CREDENTIAL,
    region: SCOPE.region,
    service: SCOPE.service,
    sha256: Sha256,
  });
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((each) => each.isWellFormed());
  const segment = fc.oneof(word, fc.constantFrom('.', '..', '', 'a%2Fb', "!'()*", ' ', '~'));
  const header = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
  const any = fc.record({
    method: fc.constantFrom('POST', 'GET', 'DELETE'),
    segments: fc.array(segment, { maxLength: 4 }),
    query: fc.dictionary(word, word, { maxKeys: 4 }),
    headers: fc.dictionary(fc.stringMatching(/^(?:x-[a-z]{1,6}|mcp-[a-z]{1,6}|user-agent|accept)$/), header),
    body: fc.string({ maxLength: 200 }),
  });
  await fc.assert(
    fc.asyncProperty(any, async ({ method, segments, query, headers, body }) => {
      const path = `/${segments.map(encodeURIComponent).join('/')}`;
      const search = Object.entries(query)
        .map((pair) => pair.map(encodeURIComponent).join('='))
        .join('&');
      const url = search === '' ? path : `${path}?${search}`;
      const flat = Object.entries(headers).flat();
      const host = 'mcp.example';
      const ours = signedHeaders(
        { method, path: url, host, headers: flat, body: Buffer.from(body) },
        CREDENTIAL,
        SCOPE,
      );
      const theirs = await official.sign(
        { method, protocol: 'https:', hostname: host, path, query, headers: { ...headers, host }, body },
        { signingDate: new Date(AT) },
      );
      assert.equal(ours.at(-1), theirs.headers['authorization']);
      const arrived = { method, url, rawHeaders: ['host', host, ...ours], body: Buffer.from(body) };
      const verdict = verifySigV4(arrived, verifier);
      assert.ok(verdict.ok, JSON.stringify(verdict));
    }),
    { numRuns: 300 },
  );
});

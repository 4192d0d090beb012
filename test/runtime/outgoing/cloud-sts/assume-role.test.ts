import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { VmcpError } from '../../../../runtime/errors.ts';
import { endpointOf } from '../../../../runtime/outgoing/cloud-sts/endpoint.ts';
import { type ConnectedSts, connectSts, userWith } from '../../../fixtures/cloud-sts.ts';
import { answerText, stsError } from '../../../fixtures/sts.ts';

const alice = userWith({});

let strategy: ConnectedSts;
beforeEach(async () => {
  strategy = await connectSts();
});
afterEach(() => strategy.close());

const xml =
  (text: string, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'text/xml' }).end(text);

const GOOD = { accessKeyId: 'ASIAIOSFODNN7EXAMPLE', secret: 'se+cret', sessionToken: 'tok/en==' };
const good = (endsAt = strategy.clock.now() + 3_600_000): string => answerText({ ...GOOD, endsAt });
const changed = (from: string | RegExp, to: string) => (): string => good().replace(from, to);

/** Everything that may come in place of credentials; the detail is for the log of the owner. */
const ANSWERS: readonly (readonly [fact: string, answer: () => RequestListener, step: RegExp, detail: RegExp])[] = [
  ['an error of the service', () => stsError('AccessDenied'), /refuses the role$/, /^AccessDenied for arn:aws:iam::/],
  ['an expired token', () => stsError('ExpiredTokenException'), /refuses the role$/, /^ExpiredTokenException/],
  ['an error without a code', () => xml('<ErrorResponse/>', 500), /cannot be used$/, /^HTTP 500: an error without a/],
  ['an error that is no XML', () => xml('Bad Gateway', 502), /cannot be used$/, /^HTTP 502: no XML$/],
  ['JSON', () => xml('{"Credentials":{}}'), /cannot be used$/, /no XML/],
  ['nothing', () => xml(''), /cannot be used$/, /no XML/],
  ['half of it', () => xml(good().slice(0, 500)), /cannot be used$/, /no XML/],
  ['two documents', () => xml(good() + good()), /cannot be used$/, /no XML/],
  ['a document type', () => xml(`<!DOCTYPE x [<!ENTITY a "b">]>${good()}`), /cannot be used$/, /no XML/],
  ['an entity', () => xml(changed('client', '&file;')()), /cannot be used$/, /no XML/],
  ['CDATA', () => xml(changed('client', '<![CDATA[x]]>')()), /cannot be used$/, /no XML/],
  ['a comment', () => xml(changed('client', '<!-- -->')()), /cannot be used$/, /no XML/],
  ['deep nesting', () => xml('<a>'.repeat(5_000)), /cannot be used$/, /no XML/],
  ['the answer to something else', () => xml('<GetCallerIdentityResponse/>'), /cannot be used$/, /no answer to this/],
  ['no credentials', () => xml(changed(/<Credentials>.*<\/Credentials>/s, '')()), /cannot be used$/, /no credentials/],
  [
    'credentials twice',
    () => xml(changed('<Credentials>', '<Credentials/><Credentials>')()),
    /cannot be used$/,
    /no cr/,
  ],
  [
    'no secret',
    () => xml(changed(/<SecretAccessKey>.*<\/SecretAccessKey>/, '')()),
    /cannot be used$/,
    /no credentials/,
  ],
  ['a line break in the token', () => xml(changed('tok/en', 'tok&#13;&#10;x: y')()), /cannot be used$/, /no cred/],
  ['no expiry', () => xml(changed(/<Expiration>.*<\/Expiration>/, '')()), /cannot be used$/, /no time of expiry/],
  ['another form of time', () => xml(changed(/<Expiration>.*Z/, '<Expiration>1767225600')()), /cannot be/, /no time/],
  ['no such day', () => xml(changed(/<Expiration>.*Z/, '<Expiration>2026-13-01T00:00:00Z')()), /cannot be/, /no time/],
  ['what has ended already', () => xml(good(strategy.clock.now())), /have ended already$/, /^expiry 2026-01-01T00:00/],
  ['too much', () => xml(good() + ' '.repeat(70_000)), /cannot be used$/, /too large/],
  ['far too much', () => xml(' '.repeat(2_000_000)), /cannot be asked$/, /^undefined$/],
  [
    'a redirect',
    () => (_request, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    /cannot be asked$/,
    /^undefined$/,
  ],
  ['a connection that breaks', () => (request) => void request.socket.destroy(), /cannot be asked$/, /^undefined$/],
];

describe('in place of credentials the service may send', () => {
  for (const [fact, answer, step, detail] of ANSWERS)
    test(`${fact}: an error that says so, and the next request tries again`, async () => {
      strategy.sts.instead = answer();
      await assert.rejects(strategy.send(alice), (error) => {
        assert.ok(error instanceof VmcpError, String(error));
        assert.equal(error.code, 'credential_unavailable');
        assert.match(error.message, /^no credential for backend "a" \(cloud_sts\): the /);
        assert.match(error.message, step);
        assert.match(String(error.detail), detail);
        assert.doesNotMatch(`${error.message} ${error.detail}`, /token-of|se\+cret|tok\/en|secret words|127\.0/);
        return true;
      });
      assert.deepEqual(strategy.received, []);
      strategy.sts.instead = undefined;
      assert.equal((await strategy.send(alice)).status, 200);
      assert.deepEqual(strategy.faults, []);
    });

  const breaksOff: RequestListener = (request) => void request.socket.destroy();
  const redirects: RequestListener = (_request, response) =>
    void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
  for (const [fact, answer, isOutage] of [
    ['a connection that breaks is', breaksOff, true],
    ['HTTP 500 is', xml('', 500), true],
    ['a redirect is not', redirects, false],
    ['an error of the service is not', stsError('AccessDenied'), false],
  ] as const)
    test(`${fact} an outage of the service`, async () => {
      strategy.sts.instead = answer;
      await assert.rejects(strategy.send(alice), { code: 'credential_unavailable', isOutage });
    });

  test('nothing at all: the request is given up after a while', async () => {
    const arrived = Promise.withResolvers<void>();
    strategy.sts.instead = () => arrived.resolve();
    const sent = assert.rejects(strategy.send(alice), { message: /cannot be asked$/, isOutage: true });
    await arrived.promise;
    strategy.clock.advance(10_000);
    await sent;
  });

  test('nothing, until the request is given up by its client', async () => {
    const arrived = Promise.withResolvers<void>();
    strategy.sts.instead = () => arrived.resolve();
    let abandon: (reason: Error) => void = () => {};
    const idleTimeout = {
      refresh: () => {},
      pause: () => () => {},
      onAbandoned: (abort: (reason: Error) => void) => {
        abandon = abort;
      },
    };
    const sent = assert.rejects(strategy.send(alice, { idleTimeout }), /^VmcpError: cancelled$/);
    await arrived.promise;
    abandon(new VmcpError('cancelled', 'cancelled'));
    await sent;
    assert.deepEqual(strategy.clock.pending(), []);
  });
});

test('credentials are read however the service writes them', async () => {
  for (const text of [
    good(),
    good()
      .replace(/^<\?xml.*\?>/, '')
      .replaceAll(/\n\s*/g, ''),
    good().replace('tok/en', '&#x74;ok&#47;en'),
    good().replace('xmlns="https://sts.amazonaws.com/doc/2011-06-15/"', 'xmlns=\'x\' a:b="c>d"'),
  ]) {
    strategy.sts.instead = xml(text);
    const other = userWith({ sub: `user-${text.length}` });
    assert.equal((await strategy.send(other)).status, 200);
    const { headers = [] } = strategy.received.at(-1) ?? {};
    assert.equal(headers[headers.indexOf('x-amz-security-token') + 1], 'tok/en==');
  }
});

test('the endpoint is the region’s, in the domain of its partition', () => {
  assert.deepEqual(
    ['us-east-1', 'eu-central-1', 'us-gov-west-1', 'cn-north-1', 'us-iso-east-1', 'us-isob-east-1'].map(endpointOf),
    [
      'https://sts.us-east-1.amazonaws.com/',
      'https://sts.eu-central-1.amazonaws.com/',
      'https://sts.us-gov-west-1.amazonaws.com/',
      'https://sts.cn-north-1.amazonaws.com.cn/',
      'https://sts.us-iso-east-1.c2s.ic.gov/',
      'https://sts.us-isob-east-1.sc2s.sgov.gov/',
    ],
  );
});

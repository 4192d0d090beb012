import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { UNVERIFIED_ISSUER } from '../../../../runtime/call/index.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { answer, type ConnectedSts, connectSts, REGION, roleArn, userWith } from '../../../fixtures/cloud-sts.ts';
import { stsError } from '../../../fixtures/sts.ts';
import { covers } from '../../../requirements.ts';

const alice = userWith({ groups: ['devs'] });
const bob = userWith({ sub: 'bob' }, { subject: 'bob', token: 'token-of-bob' });

let open: ConnectedSts | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});
const connect = async (cloudSts?: object): Promise<ConnectedSts> => (open = await connectSts(cloudSts));

const scopeOf = ({ received }: ConnectedSts): string =>
  /Credential=([^,]*)/.exec(received.at(-1)?.headers.at(-1) ?? '')?.[1] ?? '';

const refused = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof VmcpError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  assert.doesNotMatch(`${error.message} ${error.detail}`, /token-of|secret|token\/of|127\.0\.0\.1/);
  return true;
};
const unavailable = (step: RegExp) =>
  refused('credential_unavailable', new RegExp(`^no credential for backend "a" \\(cloud_sts\\): ${step.source}`));

describe('a request of a user', () => {
  covers('outgoing-auth.strategy.cloud-sts', 'outgoing.cloud-sts.web-identity', 'outgoing.cloud-sts.incoming-bearer');
  covers('outgoing.cloud-sts.signed-request', 'outgoing.cloud-sts.service-default');
  covers('extauth.cloud-sts.duration-default', 'outgoing.cloud-sts.session-name-default');
  covers('outgoing-auth.cloud-sts.fallback-role', 'outgoing.cloud-sts.fallback-role');
  test('is signed with credentials of a role that the user’s own token gives', async () => {
    const strategy = await connect();
    assert.equal((await strategy.send(alice)).status, 200);
    assert.deepEqual(strategy.faults, []);
    assert.deepEqual(strategy.sts.faults, []);
    assert.deepEqual(strategy.sts.given, [
      {
        endpoint: 'https://sts.eu-west-1.amazonaws.com/',
        roleArn: roleArn('fallback'),
        sessionName: 'alice',
        token: 'token-of-alice',
        durationSeconds: '3600',
        accessKeyId: 'ASIAIOSFODNN7EX0001',
      },
    ]);
    assert.match(scopeOf(strategy), new RegExp(`^ASIAIOSFODNN7EX0001/\\d{8}/${REGION}/cloud-mcp/aws4_request$`));
    assert.equal(strategy.strategy.dependsOnCaller, true);
  });

  covers('outgoing-auth.cloud-sts.service', 'outgoing.cloud-sts.service-set');
  covers('outgoing-auth.cloud-sts.session-duration', 'outgoing.cloud-sts.duration-sent');
  covers('outgoing-auth.cloud-sts.session-name-claim', 'outgoing.cloud-sts.session-name-set');
  test('follows what is set: service, duration, claim of the session name', async () => {
    const strategy = await connect({ service: 'execute-api', sessionDuration: 900, sessionNameClaim: 'email' });
    await strategy.send(userWith({ email: 'alice@example.com' }));
    assert.deepEqual(strategy.faults, []);
    assert.match(scopeOf(strategy), /\/execute-api\/aws4_request$/);
    const [given] = strategy.sts.given;
    assert.deepEqual([given?.durationSeconds, given?.sessionName], ['900', 'alice@example.com']);
  });

  covers('outgoing-auth.cloud-sts.subject-provider', 'outgoing.cloud-sts.subject-provider-set');
  test('is proven with the token of an upstream provider where one is named', async () => {
    const strategy = await connect({ subjectProviderName: 'okta' });
    const asked: unknown[] = [];
    const upstreamToken = async (...use: unknown[]) => (asked.push(use), 'token-of-okta');
    await strategy.send(userWith({}, { upstreamToken }));
    assert.deepEqual(
      strategy.sts.given.map(({ token }) => token),
      ['token-of-okta'],
    );
    assert.deepEqual(asked, [['okta', { backend: 'a', recipients: ['https://a.example'] }]]);
  });

  test('without a sign-in at that provider asks for one, and nothing is sent', async () => {
    const strategy = await connect({ subjectProviderName: 'okta' });
    const challenge = (error: unknown): boolean =>
      refused('login_required', /^backend "a" needs a sign-in at "okta"$/)(error) &&
      (error as VmcpError).challenge?.['scope'] === 'upstream:okta';
    await assert.rejects(strategy.send(alice), challenge);
    const ended = userWith({}, { upstreamToken: async () => 'ended' });
    strategy.sts.instead = stsError('ExpiredTokenException');
    await assert.rejects(strategy.send(ended), challenge);
    await assert.rejects(strategy.send(ended), challenge);
    assert.equal(strategy.sts.count(), 1, 'an ended token is shown once');
    strategy.sts.instead = undefined;
    await strategy.send(userWith({}, { upstreamToken: async () => 'token-of-okta' }));
    assert.equal(strategy.received.splice(0).length, 1, 'a new one is tried at once');
    const broken = userWith({}, { upstreamToken: () => Promise.reject(new Error('token-of-okta')) });
    await assert.rejects(strategy.send(broken), unavailable(/the token of "okta" cannot be had/));
    assert.deepEqual(strategy.received, []);
  });

  test('is sent as it was, but for the signature', async () => {
    const strategy = await connect();
    const pieces = [Buffer.alloc(60_000, 'a'), Buffer.alloc(40_000, 'b')];
    const body = { pieces, bytes: 100_000 };
    await strategy.send(alice, { body, headers: ['mcp-session-id', 's', 'Authorization', 'Bearer other'] });
    assert.deepEqual(strategy.faults, []);
    assert.equal(strategy.received[0]?.body, body);
    assert.deepEqual(strategy.received[0].headers.slice(0, 2), ['mcp-session-id', 's']);
    assert.doesNotMatch(strategy.received[0].headers.join(), /Bearer/);
  });

  test('is refused where a header cannot be sent as it would be signed', async () => {
    const strategy = await connect();
    const headers = ['x-tenant', 'łódź'];
    await assert.rejects(strategy.send(alice, { headers }), unavailable(/a header of the request has characters/));
    assert.deepEqual(strategy.received, []);
  });

  test('is refused where the claim of the session name is missing', async () => {
    const strategy = await connect({ sessionNameClaim: 'email' });
    for (const email of [undefined, null, '', [], {}, true, 1.5])
      await assert.rejects(strategy.send(userWith({ email })), unavailable(/the token names no role session/));
    assert.equal(strategy.sts.count(), 0);
  });
});

describe('callers that are no users', () => {
  test('the gateway’s own probes go without, and cost no credential', async () => {
    const strategy = await connect();
    await strategy.send({ kind: 'probe' });
    assert.deepEqual(strategy.received[0]?.headers, ['content-type', 'application/json']);
    assert.equal(strategy.sts.count(), 0);
  });

  test('anonymous ones are refused', async () => {
    const strategy = await connect();
    await assert.rejects(strategy.send({ kind: 'anonymous' }), unavailable(/the caller has not signed in/));
    assert.deepEqual(strategy.received, []);
  });
});

describe('credentials of a role', () => {
  test('are had once for many requests, and signed with anew at each', async () => {
    const strategy = await connect();
    await Promise.all(Array.from({ length: 20 }, () => strategy.send(alice)));
    strategy.clock.advance(60_000);
    await strategy.send(alice, { method: 'DELETE', body: undefined });
    await strategy.send(alice, { method: 'GET', body: undefined, lane: 'stream' });
    assert.equal(strategy.sts.given.length, 1);
    assert.deepEqual(strategy.faults, []);
    const signatures = new Set(strategy.received.map(({ headers }) => headers.at(-1)));
    assert.equal(signatures.size, 3);
  });

  test('are those of one user, token, role and session name', async () => {
    const matcher = 'claims.groups.exists(g, g == "admins")';
    const strategy = await connect({ roleMappings: [{ roleArn: roleArn('admin'), matcher }] });
    const callers = [
      alice,
      bob,
      { ...alice, token: 'token-of-alice-2' },
      userWith({ groups: ['admins'] }),
      { ...alice, issuer: 'https://other.example' },
      userWith({ sub: 'alice2' }),
    ];
    for (const caller of [...callers, ...callers]) await strategy.send(caller);
    assert.equal(strategy.sts.given.length, callers.length);
    assert.deepEqual(strategy.faults, []);
    const used = strategy.received.map(({ headers }) => /Credential=(\w+)/.exec(headers.at(-1) ?? '')?.[1]);
    assert.deepEqual(used.slice(0, callers.length), used.slice(callers.length));
    assert.equal(new Set(used).size, callers.length);
  });

  test('are renewed before they end', async () => {
    const strategy = await connect();
    await strategy.send(alice);
    strategy.clock.advance(3_600_000 - 29_000);
    await strategy.send(alice);
    assert.equal(strategy.sts.given.length, 2);
    assert.deepEqual(strategy.faults, []);
  });

  for (const [fact, refusal] of [
    ['401', answer(401)],
    ['403 whose body says that they have ended', answer(403, '{"__type":"ExpiredTokenException","message":"x"}')],
    ['403 in XML', answer(403, '<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>')],
    ['403 with a namespace', answer(403, '{"__type":"com.amazon.coral.service#ExpiredTokenException"}')],
    ['403 with a code', answer(403, '{"code":"ExpiredToken","message":"x"}')],
    ['403 whose header says so', answer(403, '', { 'x-amzn-errortype': 'ExpiredTokenException:http://x/' })],
  ] as const)
    test(`are dropped after ${fact}, and the request is sent once more with new ones`, async () => {
      const strategy = await connect();
      strategy.answers.push(undefined, refusal);
      await strategy.send(alice);
      assert.equal((await strategy.send(alice)).status, 200);
      assert.equal((await strategy.send(alice)).status, 200);
      assert.equal(strategy.sts.given.length, 2);
      assert.equal(strategy.received.length, 4);
      assert.equal(strategy.received[1]?.body, strategy.received[2]?.body);
      assert.deepEqual(strategy.faults, []);
    });

  test('that are refused twice, once renewed, are an error that is no 401 of ours', async () => {
    const strategy = await connect();
    strategy.answers.push(answer(401), answer(401));
    await assert.rejects(strategy.send(alice), unavailable(/the backend refuses the credential/));
    assert.equal(strategy.received.length, 2);
    strategy.clock.advance(5_000);
    assert.equal((await strategy.send(alice)).status, 200);
    assert.equal(strategy.sts.given.length, 2);
  });

  test('that are refused twice are neither sent nor asked for again for 5 s; those of a newer token are', async () => {
    const strategy = await connect();
    strategy.answers.push(...Array(4).fill(answer(401)));
    for (let turn = 0; turn < 10; turn += 1)
      await assert.rejects(strategy.send(alice), unavailable(/the backend refuses the credential/));
    assert.deepEqual([strategy.sts.given.length, strategy.received.length], [2, 2]);
    strategy.clock.advance(4_999);
    await assert.rejects(strategy.send(alice), unavailable(/the backend refuses the credential/));
    assert.equal(strategy.received.length, 2);
    strategy.clock.advance(1);
    await assert.rejects(strategy.send(alice), unavailable(/the backend refuses the credential/));
    assert.deepEqual([strategy.sts.given.length, strategy.received.length], [3, 4]);
    assert.equal((await strategy.send({ ...alice, token: 'token-of-alice-2' })).status, 200);
    assert.equal((await strategy.send(bob)).status, 200);
  });

  test('that are refused to a stream are sent with calls all the same', async () => {
    const strategy = await connect();
    strategy.answers.push(answer(401), answer(401));
    const stream = { method: 'GET', body: undefined, lane: 'stream' } as const;
    await assert.rejects(strategy.send(alice, stream), unavailable(/the backend refuses the credential/));
    assert.equal((await strategy.send(alice)).status, 200);
  });
  const ofTool = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: { isError: true, content: [{ type: 'text', text: 'S3: ExpiredToken "__type":"ExpiredTokenException"' }] },
  });
  for (const [fact, refusal] of [
    ['a result of a tool that tells of other credentials', answer(403, ofTool)],
    ['an error of a tool with such a code', answer(403, '{"jsonrpc":"2.0","id":1,"code":"ExpiredToken"}')],
    ['a list of such messages', answer(403, `[${ofTool}]`)],
    ['such a word elsewhere in a document', answer(403, '{"message":"ExpiredToken","error":{"code":"ExpiredToken"}}')],
    ['such a word in a text', answer(403, 'upstream said: ExpiredToken')],
    ['another document in XML', answer(403, '<Result><Error><Code>ExpiredToken</Code></Error></Result>')],
    ['an error type that says otherwise', answer(403, ofTool, { 'x-amzn-errortype': 'AccessDeniedException' })],
    ['a document that is large', answer(403, `{"__type":"ExpiredToken","m":"${'x'.repeat(5_000)}"}`)],
  ] as const)
    test(`stay after a 403 with ${fact}, and nothing is executed twice`, async () => {
      const strategy = await connect();
      strategy.answers.push(refusal);
      assert.equal(await strategy.send(alice), refusal);
      await strategy.send(alice);
      assert.deepEqual([strategy.received.length, strategy.sts.given.length], [2, 1]);
    });

  test('stay when the backend says that the role may not do this', async () => {
    const strategy = await connect();
    strategy.answers.push(answer(403, '{"__type":"AccessDeniedException"}'));
    assert.equal((await strategy.send(alice)).status, 403);
    await strategy.send(alice);
    assert.equal(strategy.sts.given.length, 1);
    assert.equal(strategy.received.length, 2);
  });
});

test('a token that was handed over and has ended is refused to who has sent it, and to nobody else', async () => {
  const strategy = await connect();
  strategy.sts.instead = stsError('ExpiredTokenException');
  const handedOver = userWith({}, { issuer: UNVERIFIED_ISSUER });
  await assert.rejects(strategy.send(handedOver), refused('invalid_token', /^backend "a" refuses the token$/));
  await assert.rejects(strategy.send(alice), unavailable(/the security token service refuses the role/));
  strategy.sts.instead = stsError('AccessDenied');
  await assert.rejects(strategy.send(handedOver), unavailable(/the security token service refuses the role/));
  assert.deepEqual(strategy.received, []);
});

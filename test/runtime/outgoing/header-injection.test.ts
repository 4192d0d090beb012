import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { reasonOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerStatus, type Exchange } from '../../fixtures/backend.ts';
import { type OutgoingGateway, type SecretFiles, secretFiles, startOutgoing } from '../../fixtures/outgoing.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';
import { problemsOf } from '../config/files.ts';

const by = (block: object) => ({ type: 'header_injection', headerInjection: { headerName: 'X-Api-Key', ...block } });

/** What the backend takes, by the value of the header. */
const wants =
  (isRight: (key: string) => boolean) =>
  ({ recorded: { headers } }: Exchange) =>
    isRight(String(headers['x-api-key'])) ? undefined : answerStatus(401);

const keysAt = ({ backend }: OutgoingGateway): readonly unknown[] => [
  ...new Set(backend.requests.map(({ headers }) => headers['x-api-key'])),
];

describe('header_injection', () => {
  let files: SecretFiles;
  const started: OutgoingGateway[] = [];
  const start = async (...options: Parameters<typeof startOutgoing>): Promise<OutgoingGateway> => {
    const gateway = await startOutgoing(...options);
    started.push(gateway);
    return gateway;
  };
  before(async () => {
    files = await secretFiles();
  });
  after(async () => {
    for (const gateway of started) await gateway.stop();
    await files.close();
  });

  covers(
    'outgoing-auth.strategy.header-injection',
    'outgoing-auth.header-injection.static-value',
    'outgoing-auth.config.backends-strategy',
  );
  test('every request to the backend has the header with the literal value, checks and DELETE included', async () => {
    const gateway = await start({ strategy: by({ headerValue: 'literal' }), backend: { hasStream: true } });
    const session = await openSession(gateway.running.url, { elicitation: {} }, { 'x-api-key': 'of the client' });
    assert.equal(resultText(await session.call('a_echo', { x: 1 })), 'echo {"x":1}');
    await session.end();
    await gateway.backend.received(({ http }) => http === 'DELETE');
    assert.equal(resultText(await sendModern(gateway.running.url, {})), 'echo undefined');
    const kinds = new Set(gateway.backend.requests.map(({ http, method }) => method ?? http));
    for (const kind of ['initialize', 'tools/list', 'tools/call', 'GET', 'DELETE', 'notifications/initialized'])
      assert.ok(kinds.has(kind), kind);
    assert.deepEqual(keysAt(gateway), ['literal']);
  });

  covers('outgoing-auth.header-injection.env-value');
  test('the value may be that of an environment variable', async () => {
    const environment = (name: string) => (name === 'API_KEY' ? 'from the environment' : undefined);
    const gateway = await start({ strategy: by({ headerValueEnv: 'API_KEY' }), deps: { environment } });
    await sendModern(gateway.running.url, {});
    assert.deepEqual(keysAt(gateway), ['from the environment']);
  });

  covers('outgoing.header-injection.value', 'outgoing-auth.config.default-strategy');
  test('the value may be in a file, and `default` holds where the backend has no entry of its own', async () => {
    const headerValueFile = await files.write('default', 'from a file\n');
    const gateway = await start({
      strategy: {},
      more: { outgoingAuth: { source: 'inline', default: by({ headerValueFile }) } },
    });
    await sendModern(gateway.running.url, {});
    assert.deepEqual(keysAt(gateway), ['from a file']);
  });

  test('a rotated value counts within a second, and at once where the backend refuses the old one', async () => {
    const headerValueFile = await files.write('rotated', 'first');
    let right = 'first';
    const gateway = await start({
      strategy: by({ headerValueFile }),
      backend: { on: wants((key) => key === right) },
    });
    const { url } = gateway.running;
    await sendModern(url, {});
    await files.write('rotated', 'second');
    right = 'second';
    assert.equal(resultText(await sendModern(url, { args: { n: 1 } })), 'echo {"n":1}', 'no call fails');
    right = 'first or third';
    await files.write('rotated', 'first or third');
    gateway.clock.advance(1_000);
    const before = gateway.backend.requests.length;
    assert.equal(resultText(await sendModern(url, {})), 'echo undefined');
    const sent = gateway.backend.requests.slice(before).map(({ headers }) => headers['x-api-key']);
    assert.deepEqual([...new Set(sent)], ['first or third'], 'nothing is sent with the old value');
  });

  test('a value that the backend refuses is an error that names backend and strategy, never a 401', async () => {
    let isRight = true;
    const gateway = await start({ strategy: by({ headerValue: 'hunter2' }), backend: { on: wants(() => isRight) } });
    const session = await openSession(gateway.running.url);
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    isRight = false;
    const before = gateway.backend.requests.length;
    const refused = await session.call('a_echo');
    assert.equal(reasonOf(refused), 'credential_unavailable');
    assert.match(resultText(refused), /backend "a" \(header_injection\): the backend refuses the credential/);
    assert.equal(gateway.backend.requests.length, before + 1, 'it is not sent again with the same value');
    assert.equal(JSON.stringify([refused.text, gateway.lines]).includes('hunter2'), false);
  });

  test('a value that the backend refuses shows in the status, where the gateway asks for itself', async () => {
    const gateway = await start({ strategy: by({ headerValue: 'wrong' }), backend: { on: wants(() => false) } });
    const list = await sendModern(gateway.running.url, { method: 'tools/list', name: '' });
    assert.deepEqual(resultOf(list)['tools'], []);
    const [report] = gateway.running.status().backends;
    assert.equal(report?.status, 'unauthenticated');
    assert.equal(report?.message, 'backend "a" refuses the credential (header_injection)');
  });

  for (const [what, content, told] of [
    ['missing', undefined, 'is missing or empty'],
    ['empty', '\n', 'is missing or empty'],
    ['of several lines', 'a\r\nX-Admin: true', 'has characters that it may not have'],
    ['of bytes that no header has', 'a\u0000b', 'has characters that it may not have'],
    ['too long', 'x'.repeat(16_385), 'is longer than 16384 characters'],
  ] as const)
    test(`a value that is ${what} keeps requests from being sent, and says why`, async () => {
      const headerValueFile = files.path(`bad ${what}`);
      if (content !== undefined) await files.write(`bad ${what}`, content);
      const gateway = await start({ strategy: by({ headerValueFile }) });
      const report = await until(
        'the first check',
        async () => gateway.running.status().backends.find(({ message }) => message !== undefined),
        { timeoutMs: 5_000, intervalMs: 5 },
      );
      assert.ok(report.message?.endsWith(`(header_injection): the value of header X-Api-Key ${told}`), report.message);
      assert.deepEqual(gateway.backend.requests, []);
      assert.equal(JSON.stringify(gateway.lines).includes('X-Admin'), false);
    });

  test('a backend at a new address begins anew, with the value that is written now', async () => {
    const headerValueFile = await files.write('moved', 'old');
    const gateway = await start({ strategy: by({ headerValueFile }) });
    await sendModern(gateway.running.url, {});
    await files.write('moved', 'new');
    const other = await start({ strategy: by({ headerValue: 'other' }) });
    const [config] = gateway.file(by({ headerValueFile }));
    const text = config?.text.replace(gateway.backend.url, other.backend.url) ?? '';
    const before = other.backend.requests.length;
    assert.equal(gateway.running.reload([{ name: 'config.yaml', text }]).ok, true);
    await sendModern(gateway.running.url, {});
    const sent = other.backend.requests.slice(before).map(({ headers }) => headers['x-api-key']);
    assert.ok(sent.includes('new') && !sent.includes('old'), String(sent));
  });
});

describe('what a file may say of header_injection', () => {
  const reasons = (block: object): readonly string[] =>
    problemsOf({ outgoingAuth: { source: 'inline', backends: { a: by(block) } } }).map(
      ({ path, reason }) => `${path}: ${reason}`,
    );
  const at = 'outgoingAuth.backends.a.headerInjection';

  for (const headerName of [
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Mcp-Session-Id',
    'mcp-param-x',
    'Accept',
    'Proxy-Authorization',
    'baggage',
    'Vmcp-Relayed-Authorization',
  ])
    test(`${headerName} is no header for it: the connection or MCP sets it`, () =>
      assert.deepEqual(reasons({ headerName, headerValue: 'x' }), [
        `${at}.headerName: ${headerName} belongs to the connection or to MCP`,
      ]));

  test('a value with a line break is refused', () =>
    assert.deepEqual(reasons({ headerValue: 'a\r\nX-Admin: true' }), [`${at}.headerValue: not a header value`]));

  test('a name that is none is refused', () =>
    assert.deepEqual(reasons({ headerName: 'a b', headerValue: 'x' }), [`${at}.headerName: not a header name`]));

  test('Authorization and Cookie may be set', () => {
    for (const headerName of ['Authorization', 'Cookie'])
      assert.deepEqual(reasons({ headerName, headerValue: 'x' }), []);
  });
});

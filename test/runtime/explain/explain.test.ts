import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf } from '../../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { askRaw, explained, refusals, stepOf } from '../../fixtures/explained.ts';
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from '../../fixtures/identity-provider.ts';
import { type LoggedLine, memoryLog } from '../../fixtures/memory-log.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { ON_LOOPBACK } from '../../fixtures/protected-gateway.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';

const POLICIES = [
  '@id("readers") permit(principal, action, resource == Tool::"a_read") when { principal.claim_role == "reader" };',
  '@id("small") permit(principal, action, resource == Tool::"a_write") when { context has arg_n && context.arg_n < 10 };',
  '@id("own-tools") permit(principal, action, resource in Backend::"b");',
  '@id("no-drop") forbid(principal, action, resource == Tool::"a_drop");',
  '@id("drop") permit(principal, action, resource == Tool::"a_drop");',
  '@id("soon") @dryRun("true") forbid(principal, action, resource == Tool::"a_read");',
];

describe('an explanation', () => {
  let provider: IdentityProvider;
  let backends: readonly [FixtureBackend, FixtureBackend];
  let running: Running;
  let reader: string;
  let guest: string;
  let lines: readonly LoggedLine[];

  const filesOf = (more: object = {}) =>
    configFile(
      { a: backends[0].url, b: backends[1].url },
      {
        incomingAuth: {
          type: 'oidc',
          oidc: {
            issuer: provider.issuer,
            audience: AUDIENCE,
            clientId: 'vmcp',
            ...ON_LOOPBACK,
            issuerKeys: { keys: [provider.key().publicJwk] },
          },
          authz: { type: 'cedar', policies: POLICIES },
        },
        aggregation: {
          conflictResolution: 'prefix',
          tools: [{ workload: 'b', filter: ['kept', 'renamed'], overrides: { plain: { name: 'renamed' } } }],
        },
        rateLimiting: { tools: [{ name: 'b_kept', perUser: { maxTokens: 2, refillPeriod: '1h' } }] },
        ...more,
      },
    );

  before(async () => {
    provider = await startIdentityProvider();
    backends = [
      await startBackend({ tools: ['read', 'write', 'drop'], lists: { resources: ['{"uri":"a://1","name":"1"}'] } }),
      await startBackend({ tools: ['kept', 'plain', 'secret'] }),
    ];
    const log = memoryLog();
    lines = log.lines;
    running = await startRuntime(filesOf(), {}, { log: log.log });
    reader = await provider.token({ role: 'reader', azp: 'console', email: 'alice@private.example' });
    guest = await provider.token({ sub: 'guest' });
  });
  after(async () => {
    await Promise.all([running.stop(), ...backends.map((each) => each.close()), provider.close()]);
  });

  const about = (token: string | undefined, name: string, more: object = {}) =>
    explained(running, { ...(token !== undefined && { token }), name, ...more });
  const call = (token: string, name: string, args: object = {}) =>
    sendModern(running.url, { name, args, headers: { authorization: `Bearer ${token}` } });

  test('names the policy that permits, and the one in dry run that would not', async () => {
    const explanation = await about(reader, 'a_read');
    assert.deepEqual([explanation.allowed, explanation.listed, refusals(explanation)], [true, true, []]);
    const policies = stepOf(explanation, 'policies');
    assert.deepEqual([policies['decisive'], policies['dryRun']], [['readers'], ['soon']]);
    assert.deepEqual(stepOf(explanation, 'outgoing')['strategy'], 'unauthenticated');
    const { subject, issuer, clientId } = stepOf(explanation, 'identity') as Readonly<Record<string, unknown>>;
    assert.deepEqual([subject, issuer, clientId], ['alice', provider.issuer, 'console']);
  });

  test('names the claim that a policy reads and the token does not have', async () => {
    const explanation = await about(guest, 'a_read');
    assert.deepEqual([explanation.allowed, explanation.listed, refusals(explanation)], [false, false, ['policies']]);
    const policies = stepOf(explanation, 'policies');
    assert.deepEqual([policies['failed'], policies['missingClaims']], [['readers'], ['role']]);
    assert.match(policies.remedy ?? '', /no claim "role"/);
  });

  test('tells of a tool that is listed that these arguments are refused, and others are not', async () => {
    const large = await about(guest, 'a_write', { arguments: { n: 11 } });
    assert.deepEqual([large.allowed, large.listed, stepOf(large, 'policies')['arguments']], [false, true, ['n']]);
    assert.match(stepOf(large, 'policies').reason, /"small"/);
    assert.equal((await about(guest, 'a_write', { arguments: { n: 9 } })).allowed, true);
  });

  test('names the policy that forbids', async () => {
    const explanation = await about(reader, 'a_drop');
    assert.deepEqual([explanation.allowed, explanation.listed], [false, false]);
    assert.equal(stepOf(explanation, 'policies').reason, 'forbidden by "no-drop"');
  });

  test('tells that no policy concerns a resource', async () => {
    const explanation = await about(reader, 'a://1', { kind: 'resource' });
    assert.deepEqual(refusals(explanation), ['policies']);
    assert.match(stepOf(explanation, 'policies').reason, /no policy concerns it/);
  });

  test('names the filter that hides a tool', async () => {
    const explanation = await about(guest, 'b_secret');
    assert.deepEqual([explanation.allowed, explanation.listed, refusals(explanation)], [false, false, ['filter']]);
    const { hiddenBy, backend, ownName } = stepOf(explanation, 'filter') as Readonly<Record<string, unknown>>;
    assert.deepEqual([hiddenBy, backend, ownName], ['filter', 'b', 'secret']);
  });

  test('finds a tool under the name that its backend gives it, and says how it is called', async () => {
    const explanation = await about(guest, 'plain');
    assert.deepEqual(stepOf(explanation, 'filter')['offeredAs'], ['b_renamed']);
    const renamed = await about(guest, 'b_renamed');
    assert.equal(renamed.allowed, true);
    assert.deepEqual(
      [stepOf(renamed, 'filter')['ownName'], stepOf(renamed, 'filter')['renamedTo']],
      ['plain', 'renamed'],
    );
  });

  test('tells that the backend of a name has no such tool', async () => {
    const explanation = await about(guest, 'b_nothing');
    assert.equal(stepOf(explanation, 'filter').reason, 'backend "b" lists no such tool');
    assert.equal(stepOf(explanation, 'policies').outcome, 'skipped');
  });

  test('counts what is left of a limit and takes nothing of it', async () => {
    const left = async () => {
      const explanation = await about(guest, 'b_kept');
      const [bucket] = stepOf(explanation, 'limits')['buckets'] as readonly { readonly available: number }[];
      return [explanation.allowed, bucket?.available];
    };
    assert.deepEqual(
      [await left(), await left()],
      [
        [true, 2],
        [true, 2],
      ],
    );
    await call(guest, 'b_kept');
    assert.deepEqual(await left(), [true, 1]);
    await call(guest, 'b_kept');
    assert.deepEqual(await left(), [false, 0]);
    const wait = stepOf(await about(guest, 'b_kept'), 'limits')['retryAfterSeconds'];
    const refused = errorOf(await call(guest, 'b_kept'));
    assert.ok(Math.abs(Number(refused.data['retryAfterSeconds']) - Number(wait)) < 60, String(wait));
    assert.equal((await about(reader, 'b_kept')).allowed, true);
  });

  test('says what is wrong with a token, or that there is none', async () => {
    const expired = await provider.token({}, { lifeSeconds: -60 });
    const other = await provider.token({ aud: 'https://other.example' });
    for (const [token, reason] of [
      [expired, /expired/],
      [other, /audience|another/],
      ['garbage', /./],
      ['two words', /./],
      [undefined, /a token is needed/],
    ] as const) {
      const explanation = await about(token, 'a_read');
      assert.deepEqual([explanation.allowed, refusals(explanation)], [false, ['identity']]);
      assert.match(stepOf(explanation, 'identity').reason, reason);
    }
  });

  test('names the backend that keeps a name that two want, those that got none by rule manual, and another name', async () => {
    backends[0].set({ tools: ['same', 'read'] });
    backends[1].set({ tools: ['same', 'kept'] });
    const rules = async (aggregation: object) => {
      const other = await startRuntime(
        filesOf({ incomingAuth: { type: 'anonymous' }, rateLimiting: undefined, aggregation }),
      );
      const explanation = await explained(other, { name: 'same' });
      await other.stop();
      return explanation;
    };
    const conflictResolutionConfig = { priorityOrder: ['b', 'a'] };
    const kept = await rules({ conflictResolution: 'priority', conflictResolutionConfig });
    assert.deepEqual([kept.allowed, stepOf(kept, 'filter')['backend']], [true, 'b']);
    assert.deepEqual(stepOf(kept, 'conflict')['lostBy'], ['a']);
    const contested = await rules({ conflictResolution: 'manual' });
    assert.deepEqual([contested.allowed, refusals(contested)], [false, ['conflict']]);
    assert.deepEqual(stepOf(contested, 'conflict')['claimedBy'], ['a', 'b']);
    const elsewhere = await rules({
      conflictResolution: 'prefix',
      conflictResolutionConfig: { prefixFormat: 'x_' },
    });
    assert.deepEqual([refusals(elsewhere), stepOf(elsewhere, 'filter')['offeredAs']], [['filter'], ['x_same']]);
    backends[0].set({ tools: ['read', 'write', 'drop'], lists: { resources: ['{"uri":"a://1","name":"1"}'] } });
    backends[1].set({ tools: ['kept', 'plain', 'secret'] });
  });

  test('has neither the token nor claims that do not name the user, and sends no call', async () => {
    const before = backends.map((each) => count(each, 'tools/call'));
    const { text } = await askRaw(
      running,
      JSON.stringify({ token: reader, name: 'a_read', arguments: { s: 's3cr3t' } }),
    );
    for (const secret of [reader, reader.slice(-20), 'private.example', 's3cr3t', '127.0.0.1:' + backends[0].port])
      assert.equal(text.includes(secret), false, secret);
    const logged = JSON.stringify(lines);
    assert.equal(logged.includes(reader), false);
    assert.deepEqual(
      backends.map((each) => count(each, 'tools/call')),
      before,
    );
  });

  test('tells of a question that it cannot read what is wrong, and repeats nothing of it', async () => {
    const rows: readonly (readonly [string, number, RegExp])[] = [
      ['{"name":1}', 400, /not a text/],
      ['{}', 400, /missing/],
      ['[]', 400, /object/],
      ['{"name":"x"', 400, /not JSON/],
      ['{"name":"x","name":"y"}', 400, /twice/],
      ['{"name":"x","kind":"task"}', 400, /kind/],
      ['{"name":"x","arguments":[1]}', 400, /not an object/],
      ['{"name":"x","kind":"resource","arguments":{}}', 400, /no \\"arguments\\"/],
      ['{"name":"x","tokne":"s3cr3t"}', 400, /only/],
      [`{"name":"${'x'.repeat(70_000)}"}`, 413, /./],
    ];
    for (const [body, status, message] of rows) {
      const answer = await askRaw(running, body);
      assert.equal(answer.status, status, body.slice(0, 50));
      assert.match(answer.text, message);
      assert.equal(answer.text.includes('s3cr3t'), false);
    }
    const plain = await askRaw(running, '{"name":"x"}', { 'content-type': 'text/plain' });
    assert.equal(plain.status, 415);
    const elsewhere = await askRaw(running, '{"name":"x"}', {
      'content-type': 'application/json',
      origin: 'https://evil.example',
    });
    assert.equal(elsewhere.status, 403);
  });

  test('counts no refused token against an address, nor among the attempts', async () => {
    const before = await scraped(running, 'vmcp_authentication_');
    for (let at = 0; at < 300; at += 1) {
      const bad = await provider.token({ sub: `${at}`, aud: 'https://other.example' });
      assert.equal((await about(bad, 'a_read')).allowed, false);
    }
    const isKept = /_(token_cache_entries|issuer_request)/;
    const counted = (await scraped(running, 'vmcp_authentication_')).filter((line) => !isKept.test(line));
    assert.deepEqual(
      counted,
      before.filter((line) => !isKept.test(line)),
    );
    const fresh = await provider.token({ sub: 'fresh' });
    const answer = await post(running.url, INITIALIZE, { authorization: `Bearer ${fresh}` });
    assert.ok(resultOf(answer));
  });
});

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { LIMITS } from '../../../runtime/limits.ts';
import { until } from '../../cluster/until.ts';
import { signingKey } from '../../fixtures/identity-provider.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { startCollector } from '../../fixtures/otlp-collector.ts';
import {
  oidcOf,
  type ProtectedGateway,
  type ProtectedOptions,
  startProtected,
} from '../../fixtures/protected-gateway.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { storm } from './metrics-storm.ts';

const SECRET = 's3cr3t:/ü';
const ALLOWED = 'permit(principal, action, resource) when { resource.name != "a_none" };';
const ODD = '@id("odd") forbid(principal, action, resource) when { context.arg_x > 1 };';
const TRIAL = '@id("trial") @dryRun forbid(principal, action, resource);';

describe('metrics of the gate', () => {
  let gateway: ProtectedGateway;
  const start = async (options: ProtectedOptions = {}): Promise<void> => {
    gateway = await startProtected(options);
  };
  afterEach(() => gateway.stop());

  const shown = (name: string): Promise<string[]> => scraped(gateway.running, name);
  const call = async (token: string, name = 'a_echo', args = {}) =>
    sendModern(gateway.running.url, { name, args, headers: { authorization: `Bearer ${token}` } });
  /** Incoming auth with these policies, and more keys of the file. */
  const withPolicies = (policies: readonly string[], more: object = {}): ProtectedOptions => ({
    more: (provider) => ({
      incomingAuth: {
        type: 'oidc',
        oidc: oidcOf(provider, { issuerKeys: { keys: [provider.key().publicJwk] } }),
        authz: { type: 'cedar', policies },
      },
      ...more,
    }),
  });

  test('tell requests apart by what came of their token, and name issuers of the configuration alone', async () => {
    await start({ oidc: ({ key }) => ({ issuerKeys: { keys: [key().publicJwk] }, scopes: ['mcp'] }) });
    const { provider } = gateway;
    const { issuer, token } = provider;
    const good = await token({ scope: 'mcp' });
    const foreign = { key: await signingKey('key-1') };
    const other = { key: await signingKey('of-nobody') };
    const sent: readonly (string | undefined)[] = [
      undefined,
      good,
      good,
      'no spaces allowed',
      'opaque',
      await token({ scope: 'mcp', iss: 'https://evil.example' }),
      await token({ scope: 'mcp', aud: 'https://other.example' }),
      await token({ scope: 'mcp' }, { lifeSeconds: -600 }),
      await token({ scope: 'mcp', nbf: 4e9 }),
      await token({ scope: 'mcp' }, foreign),
      await token({ scope: 'mcp' }, other),
      await token({ scope: 'mcp', typ: 'ID' }),
      await token({ scope: 'mcp', sub: undefined }),
      await token({ scope: 'none' }),
    ];
    for (const each of sent) await gateway.enter(each);
    const name = 'vmcp_authentication_attempts_total';
    const of = (result: string, count = 1) =>
      `${name}{vmcp_authentication_result="${result}",vmcp_issuer="${issuer}"} ${count}`;
    const without = (result: string) => `${name}{vmcp_authentication_result="${result}"} 1`;
    const refused = 'wrong_audience expired not_yet_valid wrong_signature unknown_key wrong_type wrong_claims';
    assert.deepEqual(
      (await shown(name)).toSorted(),
      [
        of('valid', 2),
        ...`${refused} insufficient_scope`.split(' ').map((result) => of(result)),
        ...['missing', 'malformed', 'opaque', 'wrong_issuer'].map(without),
      ].toSorted(),
    );
    assert.deepEqual(await shown('vmcp_authentication_token_cache_requests'), [
      'vmcp_authentication_token_cache_requests_total{vmcp_cache_status="miss"} 12',
      'vmcp_authentication_token_cache_requests_total{vmcp_cache_status="hit"} 1',
    ]);
    assert.deepEqual(await shown('vmcp_authentication_token_cache_entries'), [
      'vmcp_authentication_token_cache_entries{vmcp_authentication_outcome="valid"} 1',
      'vmcp_authentication_token_cache_entries{vmcp_authentication_outcome="refused"} 8',
    ]);
  });

  test('count the requests to an issuer, and what is refused because it is away', async () => {
    const environment = (name: string): string | undefined => (name === 'CLIENT_SECRET' ? SECRET : undefined);
    await start({ oidc: { clientSecretEnv: 'CLIENT_SECRET' }, deps: { environment } });
    const { provider, clock } = gateway;
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    assert.equal((await gateway.enter('opaque-1')).status, 401);
    provider.beAway(true);
    assert.equal((await gateway.enter('opaque-2')).status, 503);
    clock.advance(31_000);
    assert.equal((await gateway.enter(await provider.token({}, { key: await signingKey('new') }))).status, 401);
    const name = 'vmcp_authentication_issuer_request_duration_seconds_count';
    const of = (labels: string) => `${name}{vmcp_issuer="${provider.issuer}",${labels}} 1`;
    const expected = [
      of('vmcp_authentication_request="introspection"'),
      of('vmcp_authentication_request="introspection",error_type="issuer_unavailable"'),
      of('vmcp_authentication_request="keys"'),
      of('vmcp_authentication_request="keys",error_type="issuer_unavailable"'),
    ];
    assert.deepEqual((await shown(name)).toSorted(), expected.toSorted());
    assert.deepEqual(
      await shown('vmcp_authentication_attempts_total{vmcp_authentication_result="issuer_unavailable"}'),
      ['vmcp_authentication_attempts_total{vmcp_authentication_result="issuer_unavailable"} 1'],
    );
    provider.beAway(false);
  });

  test('go on counting over a change of the configuration', async () => {
    await start();
    const [ann, bob] = [await gateway.provider.token({ sub: 'ann' }), await gateway.provider.token({ sub: 'bob' })];
    await gateway.enter(ann);
    const { issuer, key } = gateway.provider;
    const keys = { issuerKeys: { keys: [key().publicJwk] }, resource: 'https://mcp.example/other' };
    assert.deepEqual(gateway.running.reload(gateway.file(keys)), { ok: true });
    // The change verifies ann again, for her open session: that is no request, and is not counted.
    await gateway.enter(bob);
    assert.deepEqual(await shown('vmcp_authentication_attempts_total'), [
      `vmcp_authentication_attempts_total{vmcp_authentication_result="valid",vmcp_issuer="${issuer}"} 2`,
    ]);
    assert.deepEqual(await shown('vmcp_authentication_token_cache_requests'), [
      'vmcp_authentication_token_cache_requests_total{vmcp_cache_status="miss"} 2',
    ]);
  });

  test('tell taken tokens and refusals apart by the limit', async () => {
    const bucket = (maxTokens: number, refillPeriod = '1h') => ({ maxTokens, refillPeriod });
    const rateLimiting = { shared: bucket(50), perUser: bucket(3), tools: [{ name: 'a_echo', perUser: bucket(1) }] };
    await start(withPolicies([ALLOWED], { rateLimiting }));
    const [ann, bob] = [await gateway.provider.token({ sub: 'ann' }), await gateway.provider.token({ sub: 'bob' })];
    for (const token of [ann, ann, bob]) await call(token);
    const name = 'vmcp_rate_limit_decisions_total';
    const of = (decision: string, scope: string, bucketKind: string, count: number) =>
      `${name}{vmcp_rate_limit_decision="${decision}",vmcp_rate_limit_scope="${scope}",vmcp_rate_limit_bucket="${bucketKind}"} ${count}`;
    assert.deepEqual(await shown(name), [
      of('admitted', 'server', 'shared', 2),
      of('admitted', 'server', 'per_user', 2),
      of('admitted', 'tool', 'per_user', 2),
      of('refused', 'tool', 'per_user', 1),
    ]);
    assert.deepEqual(await shown('vmcp_rate_limit_buckets'), ['vmcp_rate_limit_buckets 5']);
  });

  test('tell what policies cost and find', async () => {
    await start(withPolicies([ALLOWED, ODD, TRIAL]));
    const token = await gateway.provider.token();
    for (const x of [1, 1, 'text']) await call(token, 'a_echo', { x });
    const headers = { authorization: `Bearer ${token}` };
    await sendModern(gateway.running.url, { method: 'tools/list', name: '', headers });
    assert.deepEqual((await shown('vmcp_policy_cache_requests')).toSorted(), [
      'vmcp_policy_cache_requests_total{vmcp_cache_status="hit"} 1',
      'vmcp_policy_cache_requests_total{vmcp_cache_status="miss"} 2',
    ]);
    const evaluations = 'vmcp_policy_evaluation_duration_seconds_count';
    assert.deepEqual(await shown(`${evaluations}{vmcp_policy_question="call"}`), [
      `${evaluations}{vmcp_policy_question="call"} 2`,
    ]);
    // Again after each change of the catalog.
    assert.match((await shown(`${evaluations}{vmcp_policy_question="list"}`)).join(), / [1-9]$/);
    assert.deepEqual(await shown('vmcp_policy_evaluation_errors'), [
      'vmcp_policy_evaluation_errors_total{vmcp_policy_id="odd"} 1',
    ]);
    assert.deepEqual(await shown('vmcp_policy_dry_run_differences'), [
      'vmcp_policy_dry_run_differences_total{vmcp_policy_id="trial",vmcp_policy_would="deny"} 2',
    ]);
    assert.deepEqual(await shown('vmcp_policy_cache_callers'), ['vmcp_policy_cache_callers 1']);
    assert.deepEqual(await shown('vmcp_policy_engine_failures'), ['vmcp_policy_engine_failures_total 0']);
  });

  test('show that a call is decided alone: no caller’s lists are made for it', async () => {
    const tools = Array.from({ length: 20 }, (_, index) => `tool_${index}`);
    const staff = 'permit(principal, action, resource) when { principal.claim_groups.contains("staff") };';
    await start({ ...withPolicies([staff]), backend: { tools } });
    const callers = 5;
    for (let user = 0; user < callers; user += 1) {
      const groups = ['staff', `team-${user}`];
      assert.equal((await call(await gateway.provider.token({ sub: `user-${user}`, groups }), 'a_tool_1')).status, 200);
    }
    const evaluations = 'vmcp_policy_evaluation_duration_seconds_count';
    for (const question of ['call', 'list'])
      assert.deepEqual(await shown(`${evaluations}{vmcp_policy_question="${question}"}`), [
        `${evaluations}{vmcp_policy_question="${question}"} ${callers}`,
      ]);
  });

  test('tell how many audit events were written, and how many wait because they cannot be', async () => {
    // A folder cannot be written to.
    const audit = { enabled: true, logFile: import.meta.dirname };
    await start({ more: { audit } });
    await gateway.enter(undefined);
    gateway.clock.advance(60_000);
    const failed = async () => (await shown('vmcp_audit_write_failures_total')).some((line) => !line.endsWith(' 0'));
    await until('a failure', async () => ((await failed()) ? true : undefined), { timeoutMs: 10_000, intervalMs: 5 });
    const [events = ''] = await shown('vmcp_audit_queue_events');
    // `audit_started`, and the refusal.
    assert.equal(events, 'vmcp_audit_queue_events 2');
    assert.match((await shown('vmcp_audit_queue_size_bytes')).join(), / [1-9]\d\d+$/);
    assert.deepEqual(await shown('vmcp_audit_events_total'), [
      'vmcp_audit_events_total{vmcp_audit_outcome="written"} 0',
      'vmcp_audit_events_total{vmcp_audit_outcome="dropped"} 0',
    ]);
  });

  test('tell how full the limits of the process are', async () => {
    await start();
    const token = await gateway.provider.token();
    await gateway.enter(token);
    await call(token);
    const full = await shown('vmcp_limit_utilization');
    const names = 'sessions held_calls held_call_bytes listen_streams sse_streams request_bytes response_bytes';
    assert.deepEqual(
      full,
      names
        .split(' ')
        .map(
          (limit) => `vmcp_limit_utilization{vmcp_limit="${limit}"} ${limit === 'sessions' ? 1 / LIMITS.sessions : 0}`,
        ),
    );
    assert.deepEqual(await shown('vmcp_user_sessions'), ['vmcp_user_sessions 1']);
    assert.deepEqual(await shown('vmcp_user_lists'), ['vmcp_user_lists 0']);
  });

  test('stay as few and say no word of a stranger, whatever ten thousand tokens, users and tools are sent', async (t) => {
    const collector = await startCollector();
    t.after(() => collector.close());
    const rateLimiting = { perUser: { maxTokens: 100, refillPeriod: '1h' } };
    const telemetry = { endpoint: collector.address, insecure: true, metricsEnabled: true };
    const audit = { enabled: true, eventTypes: ['mcp_prompt_get'] };
    await start(withPolicies([ALLOWED, ODD, TRIAL], { rateLimiting, telemetry, audit }));
    await storm(gateway, { from: 0, count: 160 });
    const before = await shown('');
    const good = await storm(gateway, { from: 160, count: 10_000, only: 'valid' });
    assert.deepEqual([...good], [[200, 10_000]]);
    await storm(gateway, { from: 20_000, count: 2_000 });
    const after = await shown('');
    const namesIn = (lines: readonly string[]) => lines.map((line) => line.replace(/ \S+$/, ''));
    const known = new Set(namesIn(before));
    const grown = namesIn(after).filter((series) => !known.has(series));
    assert.deepEqual(grown, []);
    assert.doesNotMatch(after.join('\n'), /storm/);
    const valid = after.find(
      (line) => line.startsWith('vmcp_authentication_attempts_total{') && line.includes('"valid"'),
    );
    assert.ok(Number(valid?.split(' ')[1]) >= 10_000, valid);
    // More bad tokens than an address may send in a minute.
    await storm(gateway, { from: 30_000, count: LIMITS.refusedTokens.burst, only: 'refused' });
    const [throttled = ''] = await shown('vmcp_authentication_attempts_total{vmcp_authentication_result="throttled"}');
    assert.match(throttled, / [1-9]\d+$/);
    await gateway.stop();
    const gate = /^vmcp[._](authentication|policy|rate_limit|audit|limit)[._]/;
    const overOtlp = new Set(collector.metrics().map(({ name }) => name.replaceAll('.', '_')));
    const kinds = new Set(
      namesIn(after)
        .filter((series) => gate.test(series))
        .map((series) => series.replace(/\{.*/, '').replace(/(_seconds)?_(bucket|sum|count|total)$|_bytes$/, '')),
    );
    assert.ok(kinds.size >= 12, String(kinds.size));
    assert.deepEqual(
      [...kinds].filter((kind) => !overOtlp.has(kind)),
      [],
    );
  });
});

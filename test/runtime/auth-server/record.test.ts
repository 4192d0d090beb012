import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { codeIn, REDIRECT, registerClient, textIn } from '../../fixtures/signing-in.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { eventsIn, type ReadEvent } from '../observe/audit/audited.ts';
import { type LadderGateway, startLadder } from './sign-in/gateway.ts';

const STEPS = /^(oauth|account)_/;

describe('the audit log of the authorization server', { skip: noCertificates }, () => {
  let gateway: LadderGateway;
  let logFile: string;
  let removeFolder: () => Promise<void>;
  before(async () => {
    const folder = await scratchFolder('record');
    removeFolder = folder.remove;
    logFile = join(folder.path, 'audit.log');
    gateway = await startLadder({
      more: {
        audit: { enabled: true, logFile },
        telemetry: { enablePrometheusMetricsPath: true },
        extensions: {
          audit: { mode: 'blocking' },
          authServer: { upstreams: { github: { signIn: 'onDemand' } } },
        },
      },
    });
  });
  after(async () => {
    await gateway.stop();
    await removeFolder();
  });

  const all = async (): Promise<ReadEvent[]> => eventsIn(await readFile(logFile, 'utf8').catch(() => ''));
  /** The steps that are on record beyond the first `from` events, once there are so many of them. */
  const steps = (from: number, count: number): Promise<ReadEvent[]> =>
    until('the events', async () => {
      const found = (await all()).slice(from).filter(({ type }) => STEPS.test(type));
      return found.length >= count ? found : undefined;
    });
  const settled = async (): Promise<number> => {
    await fetch(`${gateway.issuer}/not-there`);
    return until('the last event', async () => {
      const events = await all();
      return events.at(-1)?.target?.['endpoint'] === '/not-there' ? events.length : undefined;
    });
  };
  const shortly = (events: readonly ReadEvent[]): string[] =>
    events.map(({ type, outcome, metadata }) => {
      const { provider, grant_type: grant, error, reason } = metadata.extra['details'] as Record<string, string>;
      return [type, outcome, provider, grant, error, reason].filter((word) => word !== undefined).join(' ');
    });

  test('tells each step of a login, with the user, the client, and the request that it belongs to', async () => {
    const from = await settled();
    const client = await registerClient(gateway, { client_name: 'Audited' });
    const tokens = await client.tokens();
    await client.refresh(textIn(tokens, 'refresh_token'));
    const events = await steps(from, 6);
    assert.deepEqual(shortly(events), [
      'oauth_register success',
      'oauth_authorize success',
      'oauth_upstream_login success corp',
      'oauth_consent success',
      'oauth_token success authorization_code',
      'oauth_token success refresh_token',
    ]);
    for (const { subjects, source } of events) {
      assert.equal(subjects?.['issuer'], gateway.issuer);
      assert.equal(source?.value, '127.0.0.1');
    }
    assert.ok(events.slice(2).every(({ subjects }) => subjects?.['user'] === 'corp|alice'));
    const ids = new Set([0, 1, 3, 4, 5].map((at) => events[at]?.subjects?.['client_id']));
    assert.deepEqual(
      [...ids].map((id = '') => client.id.startsWith(id.replace('…', ''))),
      [true],
    );
    const requests = (await all()).filter(({ type }) => type === 'http_request');
    for (const { correlation_id: id, type } of events)
      assert.ok(
        requests.some(({ correlation_id: other }) => other === id),
        `${type}: no request`,
      );
  });

  test('tells who refuses: the client’s request, the user at the provider, the user at the page, the token', async () => {
    const from = await settled();
    const { client } = gateway;
    const redirected = await gateway.browser().open(client.authorizationUrl({ scope: 'no-such-scope' }), {
      stopAt: ({ href }) => href.startsWith(REDIRECT),
    });
    assert.equal(redirected.url.searchParams.get('error'), 'invalid_scope');
    for (const parameters of [{ response_type: 'token' }, { redirect_uri: 'https://elsewhere.example/' }])
      await fetch(client.authorizationUrl(parameters), { redirect: 'manual' });
    await client.signIn({ decision: 'deny' });
    await client.redeem('no-such-code');
    assert.deepEqual(shortly(await steps(from, 7)), [
      'oauth_authorize failure invalid_scope',
      'oauth_authorize failure unsupported_response_type',
      'oauth_authorize failure invalid_redirect_uri',
      'oauth_authorize success',
      'oauth_upstream_login success corp',
      'oauth_consent denied',
      'oauth_token failure authorization_code invalid_grant',
    ]);
  });

  test('tells of a code that comes twice, of a revocation, and never a token', async () => {
    const from = await settled();
    const { client } = gateway;
    const code = codeIn(await client.signIn());
    const first = await client.redeem(code);
    await client.redeem(code);
    const second = await client.tokens();
    await client.revoke(textIn(second, 'refresh_token'));
    const events = await steps(from, 12);
    assert.deepEqual(
      shortly(events).filter((text) => !/authorize|upstream|consent/.test(text)),
      [
        'oauth_token success authorization_code',
        'oauth_grant_ended success reuse',
        'oauth_token failure authorization_code invalid_grant',
        'oauth_token success authorization_code',
        'oauth_grant_ended success revocation',
        'oauth_revoke success',
      ],
    );
    const text = await readFile(logFile, 'utf8');
    for (const secret of [code, textIn(first, 'access_token'), textIn(first, 'refresh_token')])
      assert.ok(!text.includes(secret));
  });

  test('tells of accounts that are linked, disconnected, and ended by their provider', async () => {
    const from = await settled();
    gateway.corp.comes.subject = 'linker';
    const browser = gateway.browser();
    const headers = await gateway.signedIn(browser);
    const press = async (value: string) =>
      browser.press(await browser.open(`${gateway.issuer}/oauth/accounts`), value, {
        button: 'do',
        provider: 'github',
      });
    await browser.press(await press('sign-in'), 'sign-in', { button: 'do' });
    await press('disconnect');
    assert.equal((await sendModern(gateway.running().url, { name: 'g_echo', args: {}, headers })).status, 401);
    const events = await steps(from, 7);
    assert.deepEqual(shortly(events).slice(4), [
      'oauth_upstream_login success github',
      'account_linked success github',
      'account_unlinked success github',
    ]);
    assert.ok(events.slice(5).every(({ subjects }) => subjects?.['user'] === 'corp|linker'));
  });

  test('steps are counted', async () => {
    const series = await scraped(gateway.running(), 'vmcp_auth_server_steps_total');
    assert.ok(
      series.some((line) => line.includes('vmcp_auth_server_step="oauth_consent"') && line.includes('"denied"')),
      series.join('\n'),
    );
  });
});

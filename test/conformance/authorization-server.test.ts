import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type AuthServerOptions, startAuthServer } from '../fixtures/auth-server.ts';
import { noCertificates } from '../fixtures/certificates.ts';
import { runAuthorizationSuite } from '../fixtures/conformance/authorization-suite.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { registerClient } from '../fixtures/signing-in.ts';

const SERVERS: Readonly<Record<string, AuthServerOptions>> = {
  'with an identity provider': {},
  'with two of them': { providers: ['corp', 'hub'] },
  'whose issuer has a path': { path: '/tenants/blue' },
};

/** All that the suite looks at. */
const CHECKS = ['authorization-code-grant', 'authorization-server-metadata', 'authorization-server-metadata-cimd'];

suite('the conformance suite, of an authorization server', { skip: noCertificates }, () => {
  for (const [which, options] of Object.entries(SERVERS))
    test(which, async (t) => {
      const gateway = await startAuthServer(options);
      t.after(gateway.stop);
      const port = await freePortPair();
      const callback = `http://127.0.0.1:${port}/callback`;
      const { id: clientId } = await registerClient(gateway, { redirect_uris: [callback] });
      const browser = gateway.browser();
      const stopAt = ({ href }: URL): boolean => href.startsWith(callback);
      const signIn = async (url: string): Promise<URL> =>
        (await browser.press(await browser.open(url), 'approve', { stopAt })).url;
      const { issuer, resource } = gateway;
      const outcome = await runAuthorizationSuite({ issuer, resource, clientId, port, signIn });
      assert.deepEqual(
        outcome.checks.map(({ id, status }) => `${id} ${status}`).toSorted(),
        CHECKS.map((id) => `${id} SUCCESS`),
        outcome.said,
      );
      assert.equal(outcome.exitCode, 0, outcome.said);
    });
});

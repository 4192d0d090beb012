import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Agent } from 'undici';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../operator/object.ts';
import { run } from '../cluster/command.ts';
import { scratchFolder } from '../cluster/scratch.ts';
import { TestBrowser } from '../fixtures/auth-server.ts';
import { startBackend } from '../fixtures/backend.ts';
import { noCertificates, testCertificates } from '../fixtures/certificates.ts';
import { startOpenIdProvider } from '../fixtures/openid-provider.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { startRuntime } from '../fixtures/runtime.ts';
import { withSdkV1 } from '../peers/signing-in.ts';

const root = join(import.meta.dirname, '..', '..');
const SECRET = 'a client secret';
const SECRET_FILE = '/etc/vmcp/secrets/idp/secret';
const CONTAINER = 'http://mcpserver-notes-backend.default.svc.cluster.local:8080/mcp';

const manifests = (issuer: string, providerUrl: string): string => `apiVersion: vmcp.dev/v1beta1
kind: MCPOIDCConfig
metadata: { name: own, namespace: default }
spec: { type: inline, inline: { issuer: "${issuer}", insecureAllowHTTP: true } }
---
apiVersion: vmcp.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: sign-in, namespace: default }
spec:
  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: "${issuer}"
    upstreamProviders:
      - name: corp
        type: oidc
        oidcConfig: { issuerUrl: "${providerUrl}", clientId: vmcp, clientSecretRef: { name: idp, key: secret } }
---
apiVersion: vmcp.dev/v1beta1
kind: MCPServer
metadata: { name: notes, namespace: default }
spec:
  image: registry.example/notes:1
  transport: streamable-http
  oidcConfigRef: { name: own, audience: "${issuer}/mcp", resourceUrl: "${issuer}/mcp" }
  authServerRef: { kind: MCPExternalAuthConfig, name: sign-in }
`;

test(
  'what is rendered for an MCPServer with authServerRef signs users in, and its container gets the token of their provider',
  { skip: noCertificates },
  async (t) => {
    const folder = await scratchFolder('fronted-sign-in');
    t.after(folder.remove);
    const certificates = await testCertificates();
    t.after(certificates.remove);
    const container = await startBackend({ tools: ['whoami'], isStateless: true });
    t.after(() => container.close());
    const port = await freePortPair();
    const issuer = `http://localhost:${port}`;
    const client = { client_id: 'vmcp', client_secret: SECRET, redirect_uris: [`${issuer}/mcp/oauth/callback`] };
    const provider = await startOpenIdProvider({
      certificates,
      clients: [{ ...client, grant_types: ['authorization_code', 'refresh_token'] }],
    });
    t.after(() => provider.close());
    await writeFile(join(folder.path, 'secret'), SECRET);
    await writeFile(join(folder.path, 'all.yaml'), manifests(issuer, provider.issuer));

    const text = await run(process.execPath, ['operator/main.ts', 'render', folder.path], { cwd: root });
    const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
    const mounted = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && /-notes-/.test(metadata.name));
    const data = (mounted?.['data'] ?? {}) as Readonly<Record<string, string>>;
    const { 'config.yaml': config = '', 'backends.yaml': backends = '' } = data;
    assert.ok(config.includes(SECRET_FILE) && backends.includes(CONTAINER));
    const files = [
      { name: 'config.yaml', text: config.replace(SECRET_FILE, join(folder.path, 'secret')) },
      { name: 'backends.yaml', text: backends.replace(CONTAINER, container.url) },
    ];
    const running = await startRuntime(
      files,
      { port },
      {
        featureDeps: (deps) => ({
          ...deps,
          fetchUnder: (policy) => deps.fetchUnder(policy, { caBundlePath: certificates.caFile }),
        }),
      },
    );
    t.after(running.stop);

    const agent = new Agent({ connect: { ca: await readFile(certificates.caFile, 'utf8') } });
    t.after(() => agent.close());
    const browser = new TestBrowser(agent);
    const stopAt = (to: URL): boolean => ![issuer, provider.issuer].includes(to.origin);
    const signIn = async (url: string): Promise<URL> =>
      (await browser.press(await browser.open(url), 'approve', { stopAt })).url;
    const caller = await withSdkV1('Streamable HTTP')({ url: `${issuer}/mcp`, home: folder.path, browser: { signIn } });
    t.after(() => caller.close());
    assert.match(await caller.call('whoami'), /whoami/);
    const call = container.requests.findLast(({ method }) => method === 'tools/call');
    assert.equal(call?.headers.authorization, `Bearer ${provider.lastAccessToken()}`);
  },
);

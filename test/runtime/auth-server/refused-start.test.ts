import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { scratchFolder } from '../../cluster/scratch.ts';
import { covers } from '../../requirements.ts';
import { accepted } from '../config/files.ts';

const MAIN = new URL('../../../runtime/main.ts', import.meta.url).pathname;
const ISSUER = 'https://mcp.example.com';

const fileWith = (authServer: object) => ({
  incomingAuth: { type: 'oidc', oidc: { issuer: ISSUER, audience: 'tools', clientId: 'vmcp' } },
  authServer: {
    issuer: ISSUER,
    upstreamProviders: [
      {
        name: 'code',
        type: 'oauth2',
        oauth2Config: {
          authorizationEndpoint: 'https://code.example/authorize',
          tokenEndpoint: 'https://code.example/token',
          clientId: 'vmcp',
          scopes: ['repo'],
        },
      },
    ],
    ...authServer,
  },
});

/** What the program says as it ends. */
const started = async (authServer: object): Promise<{ readonly code: number; readonly text: string }> => {
  const folder = await scratchFolder('refused-start');
  const file = join(folder.path, 'config.yaml');
  await writeFile(file, stringify(fileWith(authServer)));
  const child = spawn(process.execPath, [MAIN, 'serve', '-c', file, '--port', '0', '--management-port', '0']);
  const text: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => text.push(chunk));
  const [code] = (await once(child, 'exit')) as [number];
  await folder.remove();
  return { code, text: Buffer.concat(text).toString() };
};

covers('authserver.baseline-scopes.subset-required');
test('the process does not start with a baseline scope that is not supported', async () => {
  const { code, text } = await started({ baselineClientScopes: ['openid', 'admin'] });
  assert.equal(code, 1);
  assert.match(text, /baselineClientScopes\[1\]: admin is no scope that this server supports/);
});

covers('authserver.scopes-supported.upstream-derived');
test('scopes of the identity providers are supported', () => {
  assert.ok(accepted(fileWith({ baselineClientScopes: ['openid', 'repo'] })));
});

test('nor with an HMAC secret that is too short', async () => {
  const folder = await scratchFolder('hmac');
  const hmac = join(folder.path, 'hmac');
  await writeFile(hmac, 'x'.repeat(31));
  const { code, text } = await started({ hmacFiles: [hmac] });
  await folder.remove();
  assert.equal(code, 1);
  assert.match(text, /the current HMAC secret has fewer than 32 bytes/);
});

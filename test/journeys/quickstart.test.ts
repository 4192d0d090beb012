import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../cluster/command.ts';
import { freePortPair } from '../fixtures/ports.ts';

const root = join(import.meta.dirname, '..', '..');

test("the README's first command serves two real servers behind one endpoint and shows a call", async () => {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-quickstart-'));
  try {
    await cp(join(root, 'examples/quickstart/quickstart.yaml'), join(dir, 'quickstart.yaml'));
    await writeFile(join(dir, 'local.yaml'), `ports: { quickstart: ${await freePortPair()} }\n`);
    const output = await run(process.execPath, ['examples/quickstart/start.ts', '--once', '--dir', dir], { cwd: root });
    assert.match(output, /One endpoint: http:\/\/127\.0\.0\.1:\d+\/mcp/);
    assert.match(output, /^ {2}everything_echo /m);
    assert.match(output, /^ {2}playwright_browser_navigate /m);
    assert.match(output, /Echo: hello through vmcp/);
    assert.match(output, /claude mcp add --transport http vmcp http:\/\/127\.0\.0\.1:\d+\/mcp/);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

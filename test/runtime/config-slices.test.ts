import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantedBackendsOf } from '../../runtime/config-slices.ts';
import { accepted } from './config/files.ts';

const url = 'http://a.example/mcp';
const transport = 'streamable-http';

test('a backend has its own timeout and strategy, else the default, whatever it is called', () => {
  const config = accepted({
    backends: ['a', 'constructor'].map((name) => ({ name, url, transport })),
    operational: { timeouts: { perWorkload: { a: '5s' } } },
    outgoingAuth: { source: 'inline', backends: { a: { type: 'unauthenticated' } } },
  });
  const strategy = { type: 'unauthenticated' };
  assert.deepEqual(wantedBackendsOf(config), [
    { settings: { name: 'a', url, strategy }, tuning: { silenceMs: 5_000 } },
    { settings: { name: 'constructor', url, strategy }, tuning: { silenceMs: 30_000 } },
  ]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantedBackendsOf } from '../../runtime/config-slices.ts';
import { accepted } from './config/files.ts';

const url = 'http://a.example/mcp';
const transport = 'streamable-http';

test('a backend has its own timeout and strategy, else the default, whatever it is called', () => {
  const config = accepted({
    backends: [
      { name: 'a', url, transport, type: 'entry', caBundlePath: '/ca.crt' },
      { name: 'constructor', url, transport },
    ],
    operational: { timeouts: { perWorkload: { a: '5s' } }, failureHandling: { healthCheckInterval: '20s' } },
    outgoingAuth: { source: 'inline', backends: { a: { type: 'unauthenticated' } } },
  });
  const strategy = { type: 'unauthenticated' };
  const health = { intervalMs: 20_000, timeoutMs: 10_000, unhealthyThreshold: 3 };
  assert.deepEqual(wantedBackendsOf(config), [
    {
      settings: { name: 'a', url, transport, strategy, caBundlePath: '/ca.crt' },
      tuning: { silenceMs: 5_000, health },
    },
    { settings: { name: 'constructor', url, transport, strategy }, tuning: { silenceMs: 30_000, health } },
  ]);
});

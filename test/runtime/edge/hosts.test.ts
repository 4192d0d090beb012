import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostCheck } from '../../../runtime/edge/index.ts';

const check = hostCheck({
  allowedHosts: ['vmcp-a.ns.svc', 'Tools.Example.com'],
  allowedOrigins: ['https://app.example.com', 'https://other.example.com:8443'],
  trustedProxies: [],
  resourceUrl: 'https://mcp.example.org/mcp',
});

describe('Host', () => {
  const allowed = [
    '10.1.2.3:4483',
    '10.1.2.3',
    '[fd00::1]:4483',
    '[::1]',
    '127.0.0.1:1',
    'localhost',
    'localhost:4483',
    'LOCALHOST',
    'vmcp-a.ns.svc:4483',
    'vmcp-a.ns.svc.',
    'tools.example.com',
    'TOOLS.example.com',
    'mcp.example.org',
  ];
  for (const host of allowed) test(`${host} is allowed`, () => assert.equal(check.isHostAllowed(host), true));

  const refused = [
    undefined,
    '',
    'evil.example.com',
    'localhost.evil.example.com',
    'vmcp-a.ns.svc.evil.com',
    '127.0.0.1.evil.com',
    'a b',
    'mcp.example.org:port',
    '[::1',
    'user@localhost',
    'localhost/x',
    '1.2.3',
    '0x7f.1',
  ];
  for (const host of refused) test(`${String(host)} is refused`, () => assert.equal(check.isHostAllowed(host), false));
});

describe('Origin', () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['http://localhost:6274', 'localhost:4483', true],
    ['http://127.0.0.1:6274', '[::1]:4483', true],
    ['http://[::1]:6274', '127.0.0.1:4483', true],
    ['http://localhost:6274', '10.0.0.1:4483', false],
    ['http://localhost:6274', 'mcp.example.org', false],
    ['https://mcp.example.org', 'mcp.example.org', true],
    ['http://mcp.example.org', 'mcp.example.org', false],
    ['https://mcp.example.org:444', 'mcp.example.org', false],
    ['https://app.example.com', '10.0.0.1', true],
    ['https://app.example.com', 'localhost', true],
    ['https://other.example.com:8443', '10.0.0.1', true],
    ['https://other.example.com', '10.0.0.1', false],
    ['https://evil.example.com', 'localhost', false],
    ['http://localhost.evil.example.com', 'localhost', false],
    ['http://localhost:3000/', 'localhost', false],
    ['HTTP://localhost:3000', 'localhost', false],
    ['http://user@localhost', 'localhost', false],
    ['null', 'localhost', false],
    ['file:///tmp/x.html', 'localhost', false],
    ['', 'localhost', false],
  ];
  for (const [origin, host, expected] of rows) {
    test(`${origin || '(empty)'} to ${host} is ${expected ? 'allowed' : 'refused'}`, () => {
      assert.equal(check.isOriginAllowed(origin, host), expected);
    });
  }
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listeningOrigin } from '../../../runtime/http/listening-origin.ts';

describe('the URL of a server that listens on', () => {
  for (const [address, origin] of [
    ['127.0.0.1', 'http://127.0.0.1:80'],
    ['fd00::1', 'http://[fd00::1]:80'],
    ['::', 'http://localhost:80'],
    ['0.0.0.0', 'http://localhost:80'],
  ] as const)
    test(address, () => assert.equal(listeningOrigin({ address, port: 80 }), origin));
});

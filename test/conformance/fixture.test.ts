import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startConformanceServer } from '../fixtures/conformance/server.ts';
import { runSuite, scenariosOf } from '../fixtures/conformance/suite.ts';

describe('the server that the gateway is tested with passes the whole suite itself', { concurrency: true }, () => {
  for (const [client, backend, required] of [
    ['2025-11-25', 'legacy', 30],
    ['2026-07-28', 'modern', 37],
  ] as const) {
    test(`${client}: ${required} scenarios that are required, and all others`, async () => {
      const server = await startConformanceServer(backend);
      const scenarios = await scenariosOf(client);
      assert.equal(scenarios.filter(({ isRequired }) => isRequired).length, required);
      assert.deepEqual(await runSuite(server.url, client), new Map(scenarios.map(({ name }) => [name, {}])));
      await server.close();
    });
  }
});

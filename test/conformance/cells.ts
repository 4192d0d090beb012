import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startConformanceServer, type ConformanceServer } from '../fixtures/conformance/server.ts';
import { type Outcome, type Requirements, runSuite, scenariosOf } from '../fixtures/conformance/suite.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { type SseBridge, startSseBridge } from '../fixtures/sse-bridge.ts';
import type { Running } from '../../runtime/start.ts';

export interface Cell {
  /** What the clients of the suite speak. */
  readonly client: Requirements;
  /** What the server behind the gateway speaks. */
  readonly backend: 'legacy' | 'modern' | 'both';
  /** How the gateway speaks to it. Default: Streamable HTTP. */
  readonly transport?: 'sse';
  /** `scenario`, or `scenario:check` → why it does not pass. One that passes after all has to be taken off. */
  readonly except: Readonly<Record<string, string>>;
}

/** One test per scenario of the conformance suite, run through a gateway in front of a server of ours. */
export const describeCell = async ({ client, backend, transport, except }: Cell): Promise<void> => {
  const scenarios = await scenariosOf(client);
  describe(`conformance to ${client} through the gateway, in front of a server of the era ${backend}${transport ? ` over ${transport}` : ''}`, () => {
    let server: ConformanceServer;
    let bridge: SseBridge | undefined;
    let running: Running;
    let outcome: Outcome;
    before(async () => {
      server = await startConformanceServer(backend);
      // The suite calls everything by its own name.
      const aggregation = { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '' } };
      bridge = transport && (await startSseBridge(server.url));
      running = await startRuntime(configFile({ fixture: bridge?.url ?? server.url }, { aggregation }, transport));
      outcome = await runSuite(running.url, client);
    });
    after(async () => {
      await running.stop();
      await bridge?.close();
      await server.close();
    });

    for (const { name, isRequired } of scenarios) {
      const reason = except[name];
      const checks = Object.keys(except).filter((key) => key.startsWith(`${name}:`));
      const exceptions = [...(reason === undefined ? [] : [reason]), ...checks.map((key) => `${key}: ${except[key]}`)];
      const title = [`${name}${isRequired ? '' : ' (not scored)'}`, ...exceptions].join(', except: ');
      test(title, () => {
        const failed = outcome.get(name) ?? { run: 'it was not run' };
        if (reason !== undefined) {
          assert.notDeepEqual(failed, {}, 'it passes: take it off the table');
          return;
        }
        const known = new Set(checks.map((key) => key.slice(name.length + 1)));
        assert.deepEqual(
          Object.entries(failed).filter(([id]) => !known.has(id)),
          [],
        );
        assert.deepEqual(known, new Set(Object.keys(failed)), 'some check passes: take it off the table');
      });
    }

    test('every exception is a scenario of the suite', () => {
      const names = new Set(scenarios.map(({ name }) => name));
      assert.deepEqual(
        Object.keys(except).filter((key) => !names.has(key.split(':', 1).join())),
        [],
      );
    });
  });
};

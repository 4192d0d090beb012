import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers } from '../../../../requirements.ts';
import { planOf, planWith } from '../../plan-with-everything-built.ts';
import { limited, plan, server as mcpServer } from '../../fronted-server-objects.ts';
import { condition, group, server } from '../../plan-of-demo.ts';

const limits = { config: limited };
const kvstore = { provider: 'kvstore', address: 'redis:6379' };

const SPECS: readonly (readonly [what: string, spec: object, isTold: boolean])[] = [
  ['several replicas', { replicas: 2 }, true],
  ['as many as an autoscaler likes', {}, true],
  ['one', { replicas: 1 }, false],
  ['none', { replicas: 0 }, false],
  ['several, with a store in memory', { replicas: 2, sessionStorage: { provider: 'memory' } }, true],
  ['several, with a store of all', { replicas: 2, sessionStorage: kvstore }, false],
];

covers('ratelimit.requires-kvstore');
for (const [what, spec, isTold] of SPECS)
  test(`replicas that count calls each for itself are reported: ${what}`, () => {
    const told = [planOf(server({ ...limits, ...spec }), group()), plan([mcpServer({ ...limited, ...spec })])];
    for (const each of told) assert.equal(condition(each, 'LimitsPerReplica') !== undefined, isTold);
  });

test('without limits, with a store that the config names, or on a laptop nothing is counted apart', () => {
  const local = { filesDirectory: '/tmp', ports: {}, backends: {} };
  for (const each of [
    planOf(server({ replicas: 2 }), group()),
    planOf(server({ config: { ...limited, sessionStorage: kvstore } }), group()),
    planWith({ local }, server(limits), group()),
  ])
    assert.equal(condition(each, 'LimitsPerReplica'), undefined);
});

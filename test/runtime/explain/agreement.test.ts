import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { startBackend } from '../../fixtures/backend.ts';
import { explained } from '../../fixtures/explained.ts';
import { AUDIENCE, startIdentityProvider } from '../../fixtures/identity-provider.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { ON_LOOPBACK } from '../../fixtures/protected-gateway.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { anyPolicies, ARGUMENT_VALUES, claims, ENTITIES, subjects } from '../gate/policy/generated.ts';

const SETS = 50;
const OF_EACH = 20;

const argument = fc.option(fc.constantFrom(...ARGUMENT_VALUES), { nil: undefined });
const asked = fc.record({
  caller: fc.nat(),
  name: fc.constantFrom('x_a', 'x_a', 'x_b', 'x_hidden', 'x_none'),
  args: fc.record({ repo: argument, n: argument, force: argument }),
});

test('says of 1,000 calls what becomes of them', { timeout: 300_000 }, async () => {
  const provider = await startIdentityProvider();
  const backend = await startBackend({
    tools: ['{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}', 'b', 'hidden'],
  });
  const tokens: (string | undefined)[] = [undefined, 'garbage', await provider.token({}, { lifeSeconds: -60 })];
  for (const [subject, more] of fc.sample(fc.tuple(subjects, claims), { numRuns: 30, seed: 1 }))
    tokens.push(await provider.token({ ...more, sub: subject }));
  const filesOf = (policies: readonly string[]) =>
    configFile(
      { x: backend.url },
      {
        name: 's',
        incomingAuth: {
          type: 'oidc',
          oidc: {
            issuer: provider.issuer,
            audience: AUDIENCE,
            clientId: 'vmcp',
            ...ON_LOOPBACK,
            issuerKeys: { keys: [provider.key().publicJwk] },
          },
          authz: { type: 'cedar', policies, entitiesJson: ENTITIES },
        },
        aggregation: { conflictResolution: 'prefix', tools: [{ workload: 'x', filter: ['a', 'b'] }] },
        rateLimiting: { tools: [{ name: 'x_b', shared: { maxTokens: 20, refillPeriod: '24h' } }] },
      },
    );
  const running = await startRuntime(filesOf(['permit(principal, action, resource);']));
  const seen = new Map<string, number>();
  try {
    const property = fc.asyncProperty(
      anyPolicies,
      fc.array(asked, { minLength: OF_EACH, maxLength: OF_EACH }),
      async (policies, calls) => {
        const reloaded = running.reload(filesOf(policies));
        assert.ok(reloaded.ok, JSON.stringify(reloaded));
        for (const { caller, name, args: given } of calls) {
          const token = tokens[caller % tokens.length];
          const args = argumentsOf(given);
          const explanation = await explained(running, { token, name, arguments: args });
          const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
          const { json } = await sendModern(running.url, { name, args, headers });
          const isAnswered = (json as { readonly result?: unknown }).result !== undefined;
          assert.equal(
            explanation.allowed,
            isAnswered,
            `${policies.join('\n')}\n${JSON.stringify([name, args, explanation, json], null, 1)}`,
          );
          const refusing = explanation.steps.find(({ outcome }) => outcome === 'refused')?.step ?? 'none';
          seen.set(refusing, (seen.get(refusing) ?? 0) + 1);
        }
      },
    );
    await fc.assert(property, { numRuns: SETS, endOnFailure: true });
  } finally {
    await Promise.all([running.stop(), backend.close(), provider.close()]);
  }
  assert.equal(
    [...seen.values()].reduce((sum, each) => sum + each, 0),
    SETS * OF_EACH,
  );
  for (const step of ['none', 'identity', 'policies']) assert.ok((seen.get(step) ?? 0) > 20, JSON.stringify([...seen]));
});

const argumentsOf = (given: Readonly<Record<string, string | undefined>>): object =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, JSON.parse(value) as unknown]],
    ),
  );

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compilePolicy } from '../../../../runtime/gate/policy/compile-policy.ts';
import { environmentOf, type Principal, requestOf } from '../../../../runtime/gate/policy/decision-request.ts';
import { preparePolicies } from '../../../../runtime/gate/policy/engine.ts';
import { parseEntities } from '../../../../runtime/gate/policy/entities.ts';
import { ERROR, FALSE, TRUE } from '../../../../runtime/gate/policy/outcome.ts';
import { parsePolicies } from '../../../../runtime/gate/policy/parse-policies.ts';
import { canRead, readArguments, readClaims } from '../../../../runtime/gate/policy/read-values.ts';
import type { Subject } from '../../../../runtime/gate/policy/subject.ts';
import { anyPolicies, ARGUMENT_VALUES, claims, ENTITIES, plainPolicies, subjects } from './generated.ts';
import { toolSubject, withArguments } from './requests.ts';

const world = { server: 's', written: parseEntities(ENTITIES).entities };
const values = fc.constantFrom(...ARGUMENT_VALUES);
const args = fc.record({ repo: values, n: values, force: values });

/** Extension types, integers that a double does not hold, and numbers that become decimals. */
const CEDAR_ONLY = /ip\(|decimal|92233|1\.5/;

/** What Cedar says of one policy by itself, in the bits of our own evaluation. */
const byCedar = (
  policy: { text: string; effect: string },
  request: Parameters<ReturnType<typeof preparePolicies>['authorize']>[0],
) => {
  const prepared = preparePolicies({ p: policy.text });
  const { reason, failed } = prepared.authorize(request);
  prepared.release();
  if (failed.length > 0) return ERROR;
  return reason.length > 0 ? TRUE : FALSE;
};

test('what is evaluated here agrees with Cedar, with known arguments and with unknown ones', () => {
  let sure = 0;
  let all = 0;
  const property = fc.property(
    fc.oneof(anyPolicies, plainPolicies),
    claims,
    subjects,
    fc.tuple(args, fc.constantFrom('x_a', 'x_b')),
    (...[texts, claims, subject, [given, tool]]) => {
      const { policies, problems } = parsePolicies(texts);
      assert.deepEqual(problems, []);
      for (const policy of policies.map(compilePolicy)) {
        const entity = { kind: 'entity', type: 'Client', id: subject } as const;
        const who: Principal = { entity, claims: readClaims({ ...claims, sub: subject }, policy.reads) };
        const about: Subject = toolSubject(tool);
        const read = readArguments(withArguments(given), policy.reads);
        if (!canRead(policy.reads, [who.claims, read])) return;
        const actual = byCedar(policy, requestOf(who, about, { args: read, reads: policy.reads, world }));
        const environment = environmentOf(who, about, world);
        const known = policy.evaluate(environment(read.known));
        const unknown = policy.evaluate(environment(undefined));
        all += 1;
        if (known === actual) sure += 1;
        assert.ok((known & actual) !== 0, `${policy.text}: ${known}, Cedar ${actual}`);
        assert.ok(
          known === actual || CEDAR_ONLY.test(policy.text + JSON.stringify(claims)),
          `${policy.text}: not sure, ${known}, Cedar ${actual}`,
        );
        assert.ok((unknown & actual) !== 0, `${policy.text}: ${unknown} with unknown arguments, Cedar ${actual}`);
      }
    },
  );
  fc.assert(property, { numRuns: 800 });
  assert.ok(sure > all * 0.9, `${sure} of ${all}`);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { compileCondition, MAX_EXPRESSION, newBudget, variablesOf } from '../../runtime/cel/index.ts';
import { conditions } from '../fixtures/cel-expressions.ts';
import { CLAIMS, ORACLE } from '../fixtures/cel-table.ts';
import { covers } from '../requirements.ts';
import { ensureMade } from './toolchains.ts';

/**
 * Matchers of role mappings against cel-go, the reference implementation. `SEED=7 CONDITIONS=100000` tries others, and
 * more of them.
 */
const SEED = Number(process.env['SEED'] ?? 1);
const CONDITIONS = Number(process.env['CONDITIONS'] ?? 2_000);

const oracle = await ensureMade('cel', (line) => void process.stderr.write(`${line}\n`));
const skip = oracle.ok ? false : oracle.why;

const verdictsOfOracle = async (expressions: readonly string[]): Promise<readonly string[]> => {
  assert.ok(oracle.ok);
  const child = spawn(join(oracle.folder, 'peer'), { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ claims: CLAIMS, expressions }));
  return JSON.parse(await text(child.stdout)) as readonly string[];
};

const ourVerdict = (expression: string): string => {
  const compiled = compileCondition(expression, ['claims']);
  if (!compiled.ok) return 'refused';
  return compiled.condition.evaluate(variablesOf({ claims: CLAIMS }) ?? assert.fail('too large'), newBudget());
};

const hasValue = (verdict = ''): boolean => verdict === 'true' || verdict === 'false';

/**
 * Whether a mapping is decided as the oracle decides; which of two failures of an expression is told is up to an
 * implementation. What is surely no condition is refused here before it is evaluated. A condition also fails here where
 * a map is searched for what can be no key, such as null: cel-go says that the map has no such key, by which a negation
 * would give a role.
 */
const agrees = (expression: string, ours: string, theirs = ''): boolean =>
  hasValue(ours) ? ours === theirs : !hasValue(theirs) || expression.includes(' in ');

describe('conditions, and what cel-go makes of them', { skip }, () => {
  covers('outgoing.role-mapping.matcher-cel');
  test('each row of the table has the verdict of cel-go', async () => {
    const rows = Object.values(ORACLE).flat();
    const theirs = await verdictsOfOracle(rows.map(([expression]) => expression));
    // A member of what has none is no failure to cel-go, but absent.
    const differ = rows.flatMap(([expression, verdict], index) =>
      verdict === theirs[index] || (verdict === 'failed' && theirs[index] === 'absent')
        ? []
        : [`${expression}: ${verdict}, and not ${theirs[index]}`],
    );
    assert.deepEqual(differ, []);
  });

  covers('outgoing.role-mapping.matcher-cel');
  test('a random condition has the same value, or none, whatever its parts are', async () => {
    const all = fc
      .sample(conditions, { seed: SEED, numRuns: CONDITIONS })
      .filter((expression) => expression.length <= MAX_EXPRESSION);
    const theirs = await verdictsOfOracle(all);
    const ours = all.map(ourVerdict);
    const differ = all.flatMap((expression, index) =>
      agrees(expression, ours[index] ?? '', theirs[index])
        ? []
        : [`${expression}: ${ours[index]}, and not ${theirs[index]}`],
    );
    assert.deepEqual(differ, [], `of seed ${SEED}`);
    for (const verdict of ['true', 'false', 'absent', 'failed'])
      assert.ok(ours.filter((each) => each === verdict).length > CONDITIONS / 50, `more of ${verdict}`);
  });
});

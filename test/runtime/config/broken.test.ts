import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { suite, test } from 'node:test';
import { formatProblem, loadConfig } from '../../../runtime/config/index.ts';

const directory = new URL('broken/', import.meta.url).pathname;
const MARK = '# Output\n';

suite('broken configuration files', () => {
  for (const path of globSync(`${directory}*.yaml`).toSorted()) {
    const name = basename(path);
    test(`${name} gets the messages at its end`, () => {
      const [input = '', expected = ''] = readFileSync(path, 'utf8').split(MARK);
      const loaded = loadConfig([{ name, text: input }]);
      const problems = loaded.ok ? [] : loaded.problems;
      const actual = problems.map((problem) => `# ${formatProblem(problem)}\n`).join('');
      if (process.env['UPDATE_GOLDENS'] === '1') writeFileSync(path, `${input.trimEnd()}\n\n${MARK}${actual}`);
      else assert.equal(actual, expected);
      assert.ok(problems.length > 0);
      for (const { line, column, reason, remedy } of problems) {
        assert.ok(line > 0 && column > 0 && reason.length > 5 && remedy.length > 5);
      }
    });
  }
});

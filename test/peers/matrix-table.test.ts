import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { matrixTable } from './matrix-table.ts';

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'compatibility.md');
const BEGIN = '<!-- peers: UPDATE_GOLDENS=1 node --test test/peers/matrix-table.test.ts -->';
const END = '<!-- end of peers -->';

test('docs/compatibility.md says of each client and server what the matrix of the peers tries', async () => {
  const page = await readFile(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  const wanted = `${before}${BEGIN}\n\n${matrixTable()}\n\n${END}${after}`;
  if (process.env['UPDATE_GOLDENS'] === '1') await writeFile(PAGE, wanted);
  else assert.equal(page, wanted);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Ask, type ListBounds, readList } from '../../../runtime/backends/read-list.ts';
import { VmcpError } from '../../../runtime/errors.ts';

const listTools = (backend: string, ask: Ask, bounds?: ListBounds) => readList({ backend, kind: 'tools' }, ask, bounds);

const BOUNDS = { pages: 4, entries: 3, bytes: 1_000, entryBytes: 200 };

const toolsOf = (names: readonly string[]): string => names.map((name) => `{"name":"${name}"}`).join(',');

/** A backend with these pages, each the inside of a result; counts what was asked. */
const paged = (pages: readonly string[]) => {
  let asked = 0;
  const ask: Ask = () => {
    const page = pages[asked] ?? '"tools":[]';
    asked += 1;
    const cursor = asked < pages.length ? `,"nextCursor":"${asked}"` : '';
    return Promise.resolve(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{${page}${cursor}}}`));
  };
  return { ask, asked: () => asked };
};

const refused = (what: RegExp) => (error: unknown) =>
  error instanceof VmcpError && error.code === 'backend_unavailable' && what.test(error.message);

describe('a list of tools', () => {
  test('within its bounds is taken whole', async () => {
    const tools = await listTools(
      'a',
      paged([`"tools":[${toolsOf(['x', 'y'])}]`, `"tools":[${toolsOf(['z'])}]`]).ask,
      BOUNDS,
    );
    assert.deepEqual(
      tools.map(({ key }) => key),
      ['x', 'y', 'z'],
    );
  });

  const rows: readonly (readonly [string, readonly string[], RegExp, number])[] = [
    ['one tool too many on its only page', [`"tools":[${toolsOf(['1', '2', '3', '4'])}]`], /more than 3 tools/, 1],
    [
      'one tool too many on a later page',
      [`"tools":[${toolsOf(['1', '2'])}]`, `"tools":[${toolsOf(['3', '4'])}]`],
      /more than 3 tools/,
      2,
    ],
    [
      'a tool too large',
      [`"tools":[{"name":"x","description":"${'d'.repeat(200)}"}]`],
      /a tool of more than 200 bytes/,
      1,
    ],
    [
      'pages too large together',
      Array.from({ length: 4 }, () => `"tools":[],"_meta":{"x":"${'d'.repeat(400)}"}`),
      /more than 1000 bytes/,
      3,
    ],
    ['too many pages', Array.from({ length: 9 }, () => '"tools":[]'), /more than 4 pages/, 4],
  ];
  for (const [what, pages, message, asked] of rows) {
    test(`with ${what} is refused as soon as that is known`, async () => {
      const backend = paged(pages);
      await assert.rejects(listTools('a', backend.ask, BOUNDS), refused(message));
      assert.equal(backend.asked(), asked);
    });
  }

  test('that names one tool twice, or nearly, is refused', async () => {
    for (const second of ['name', 'n\\u0061me', 'Name', 'NAME']) {
      const page = `"tools":[{"name":"x","${second}":"other_tool"}]`;
      await assert.rejects(listTools('a', paged([page]).ask, BOUNDS), refused(/cannot be used/));
    }
  });

  test('leaves out what has no name', async () => {
    assert.deepEqual(await listTools('a', paged(['"tools":[{},{"name":5},7,null]']).ask, BOUNDS), []);
  });
});

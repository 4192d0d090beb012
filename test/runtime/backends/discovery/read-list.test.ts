import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Ask, type ListBounds, readList } from '../../../../runtime/backends/discovery/read-list.ts';
import type { ListKind } from '../../../../runtime/mcp/lists.ts';
import { VmcpError } from '../../../../runtime/errors.ts';

const listTools = (backend: string, ask: Ask, bounds?: ListBounds) => readList({ backend, kind: 'tools' }, ask, bounds);

const BOUNDS = { pages: 4, entries: 3, bytes: 1_000, entryBytes: 200 };

const toolsOf = (names: readonly string[]): string =>
  names.map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`).join(',');

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

/** The names that are left of a list with these entries, and what was left out. */
const read = async (kind: ListKind, entries: string, isModern = false) => {
  const leftOut: string[] = [];
  const ask: Ask = () => Promise.resolve(Buffer.from(`{"id":1,"result":{"${kind}":[${entries}]}}`));
  const items = await readList({ backend: 'a', kind, isModern, onLeftOut: (what) => leftOut.push(what) }, ask);
  return { names: items.map(({ key }) => key), leftOut };
};

describe('an entry that strict clients refuse', () => {
  const schema = '"inputSchema":{"type":"object"}';
  const rows: readonly (readonly [ListKind, entry: string, leftOut: string])[] = [
    ['tools', '7', 'tool that is no object'],
    ['tools', `{${schema}}`, 'tool without name'],
    ['tools', '{"name":"t"}', 'tool "t", for its inputSchema'],
    ['tools', '{"name":"t","inputSchema":[]}', 'tool "t", for its inputSchema'],
    ['tools', '{"name":"t","inputSchema":{}}', 'tool "t", for its inputSchema.type'],
    ['tools', `{"name":"t","description":5,${schema}}`, 'tool "t", for its description'],
    ['tools', `{"name":"t","title":null,${schema}}`, 'tool "t", for its title'],
    ['tools', `{"name":"t","outputSchema":{"type":"array"},${schema}}`, 'tool "t", for its outputSchema.type'],
    [
      'tools',
      `{"name":"t","annotations":{"readOnlyHint":"no"},${schema}}`,
      'tool "t", for its annotations.readOnlyHint',
    ],
    ['tools', `{"name":"t","icons":[{"src":1}],${schema}}`, 'tool "t", for its icons.0'],
    ['tools', `{"name":"${'t'.repeat(99)}"}`, `tool "${'t'.repeat(63)}…", for its inputSchema`],
    ['prompts', '{"name":"p","arguments":[{}]}', 'prompt "p", for its arguments.0'],
    ['resources', '{"uri":"x:y"}', 'resource "x:y", for its name'],
    [
      'resources',
      '{"uri":"x:y","name":"n","annotations":{"lastModified":"today"}}',
      'resource "x:y", for its annotations.lastModified',
    ],
    [
      'resourceTemplates',
      '{"uriTemplate":"x:{y}","name":"n","mimeType":[]}',
      'resource template "x:{y}", for its mimeType',
    ],
  ];
  for (const [kind, entry, leftOut] of rows)
    test(`is left out of ${kind} and told: ${leftOut.slice(0, 60)}`, async () => {
      assert.deepEqual(await read(kind, entry), { names: [], leftOut: [leftOut] });
    });

  test('is none for what the protocol leaves open', async () => {
    for (const [kind, entry] of [
      [
        'tools',
        `{"name":"","future":{"x":[1]},"annotations":{"odd":5},"inputSchema":{"type":"object","oneOf":[true]}}`,
      ],
      ['prompts', '{"name":"p","arguments":[{"name":"a","odd":null}]}'],
      ['resources', '{"uri":"not a uri","name":"","size":1e99,"annotations":{"priority":1}}'],
      ['resourceTemplates', '{"uriTemplate":"{","name":""}'],
    ] as const)
      assert.equal((await read(kind, entry)).names.length, 1, entry);
  });

  test('is none for a result of any type at a backend of 2026-07-28', async () => {
    const entry = `{"name":"t","outputSchema":{"type":"array"},${schema}}`;
    assert.deepEqual(await read('tools', entry, true), { names: ['t'], leftOut: [] });
  });
});

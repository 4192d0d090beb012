import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import { buildLiveCatalog, overlays } from '../../../runtime/catalog/index.ts';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import { wholeOf } from '../../../runtime/json/text-pieces.ts';
import type { Fetch } from '../../../runtime/outgoing/index.ts';
import { answerJson, answerStatus, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { atBackend, lists, settings } from './sources.ts';
import { userOf } from '../../fixtures/callers.ts';
import { neverIdle } from '../../fixtures/idle-timeout.ts';

/** A strategy of a backend whose lists differ from user to user: it shows who asks. */
const asCaller =
  (caller: Caller) =>
  (next: Fetch): Fetch =>
  (request) =>
    next({ ...request, headers: [...request.headers, 'authorization', subjectOf(caller)] });

const subjectOf = (caller: Caller): string => (caller.kind === 'user' ? caller.subject : '');

let backend: FixtureBackend;
before(async () => {
  backend = await startBackend({
    isStateless: true,
    on: ({ recorded: { headers } }) =>
      headers.authorization === 'stranger'
        ? answerStatus(403)
        : answerJson(JSON.stringify({ tools: [{ name: `of-${headers.authorization}` }] })),
  });
});
after(() => backend.close());

/** One exchange, as the connections of the backend make it. */
const exchange: Fetch = async ({ method, path, headers, body }) => {
  const pairs = headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? '']] : []));
  const response = await fetch(new URL(path, backend.url), {
    method,
    headers: pairs as [string, string][],
    body: body === undefined ? null : wholeOf(body).toString(),
  });
  return { status: response.status, headers: {}, body: Buffer.from(await response.arrayBuffer()) };
};

const listAs = async (caller: Caller): Promise<Overlay> => {
  const { status, body } = await asCaller(caller)(exchange)({
    method: 'POST',
    path: '/mcp',
    headers: [],
    body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    onMessage: () => 'answer',
    idleTimeout: neverIdle,
  });
  if (status !== 200) return [{ name: 'own', status: 'unauthenticated' }];
  const { result } = JSON.parse(body.toString()) as { readonly result: { readonly tools: readonly object[] } };
  return [{ name: 'own', status: 'ready', lists: lists({ tools: result.tools.map((tool) => JSON.stringify(tool)) }) }];
};

test('a backend whose strategy depends on the caller is listed with each caller’s own credential, once for each', async () => {
  const offer = buildLiveCatalog({
    settings: () => ({ ...settings(), partialFailureMode: 'fail', waitForUnknownMs: 10 }),
    backends: () => [
      { name: 'all', status: 'ready', lists: lists({ tools: ['t'] }) },
      { name: 'own', status: 'unauthenticated' },
    ],
    firstListed: async () => {},
    statusKnown: async () => {},
    overlay: overlays({
      list: (caller) => {
        if (caller.kind !== 'user') return undefined;
        const all = listAs(caller);
        return { all, only: () => all };
      },
      now: () => 1_000_000,
    }).of,
  });
  const seenBy = async (caller: Caller): Promise<string> => (await offer.list('tools', undefined, caller)).toString();
  const both = (subject: string): string => `{"tools":[{"name":"all_t"},{"name":"own_of-${subject}"}]}`;
  const answers = await Promise.all(['x', 'x', 'y', 'x'].map(async (subject) => seenBy(userOf(subject))));
  assert.deepEqual(answers, [both('x'), both('x'), both('y'), both('x')]);
  assert.equal(await seenBy(userOf('stranger')), '{"tools":[{"name":"all_t"}]}');
  assert.equal(await seenBy({ kind: 'anonymous' }), '{"tools":[{"name":"all_t"}]}');
  assert.deepEqual(
    backend.requests.map(({ headers }) => headers.authorization),
    ['x', 'y', 'stranger'],
  );
  const target = await offer.lookUp({ names: 'tool', name: 'own_of-x', caller: userOf('x'), origin: 'client' });
  assert.equal(atBackend(target)?.backend, 'own');
});

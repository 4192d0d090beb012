import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { VERSION } from '../../runtime/version.ts';
import {
  answerError,
  answerJson,
  answerSse,
  type BackendOptions,
  type FixtureBackend,
  startBackend,
} from '../fixtures/backend.ts';
import { membersIn, results } from '../fixtures/corpus/results.ts';
import { openSession, post, type RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

const RESERVED = 'io.modelcontextprotocol/';
const SERVER_INFO = `"${RESERVED}serverInfo":{"name":"backend","version":"1"}`;
const TOOLS =
  '{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}';
const DISCOVERED = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{${SERVER_INFO}}}`;

/** A backend of 2026-07-28 that answers calls with this result. */
const modern =
  (call: (result: string) => ReturnType<typeof answerJson>, result: string): NonNullable<BackendOptions['on']> =>
  ({ recorded: { method } }) => {
    if (method === 'server/discover') return answerJson(DISCOVERED);
    if (method === 'tools/list') return answerJson(TOOLS);
    return method === 'tools/call' ? call(asModern(result)) : answerError('{"code":-32601,"message":"no"}');
  };

/** What a server of 2026-07-28 says beside the result itself. */
const asModern = (result: string): string => {
  const members = membersIn(result);
  const meta = members.find((member) => member.startsWith('"_meta"'));
  const own = meta === undefined ? [] : membersIn(meta.slice(meta.indexOf('{')));
  const others = members.filter((member) => member !== meta);
  return `{${['"resultType":"complete"', ...others, `"_meta":{${[SERVER_INFO, ...own].join()}}`].join()}}`;
};

const callAsModern = (url: string): Promise<RawAnswer> =>
  post(
    url,
    {
      jsonrpc: '2.0',
      id: 'f',
      method: 'tools/call',
      params: {
        name: 'a_echo',
        _meta: { [`${RESERVED}protocolVersion`]: '2026-07-28', [`${RESERVED}clientCapabilities`]: {} },
      },
    },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a_echo' },
  );

interface Received {
  readonly members: readonly string[];
  readonly meta: readonly string[];
  /** Who is said to have made it. */
  readonly identities: readonly string[];
}

/**
 * The members of the result as the client has got them, and those of its `_meta`, without what the gateway has to say
 * there.
 */
const received = ({ text }: RawAnswer): Received => {
  const message = membersIn(text);
  const result = message.find((member) => member.startsWith('"result":'))?.slice('"result":'.length) ?? text;
  const members = membersIn(result);
  const meta = members.find((member) => member.startsWith('"_meta"'));
  const inMeta = meta === undefined ? [] : membersIn(meta.slice(meta.indexOf('{')));
  const isIdentity = (member: string): boolean => member.startsWith(`"${RESERVED}serverInfo"`);
  return {
    members: members.filter((member) => member !== meta && member !== '"resultType":"complete"'),
    meta: inMeta.filter((member) => !isIdentity(member)),
    identities: inMeta.filter(isIdentity),
  };
};

const cells = [
  { client: 'legacy', backend: 'modern' },
  { client: 'modern', backend: 'legacy' },
  { client: 'modern', backend: 'modern' },
] as const;

for (const { client, backend: era } of cells) {
  describe(`a ${client} client gets of a ${era} backend every member as it is spelt`, () => {
    let backend: FixtureBackend;
    let running: Running;
    let call: () => Promise<RawAnswer>;
    before(async () => {
      backend = await startBackend(era === 'modern' ? { on: modern(answerJson, '{}') } : {});
      running = await startRuntime(configFile({ a: backend.url }));
      const session = client === 'legacy' ? await openSession(running.url) : undefined;
      call = session ? () => session.call('a_echo') : () => callAsModern(running.url);
      await session?.toolNames();
    });
    after(async () => {
      await running.stop();
      await backend.close();
    });

    covers('endpoints.mcp.one-server-identity');
    test('and never learns that it was this backend', async () => {
      const own = `"${RESERVED}serverInfo":${JSON.stringify({ name: 'test', version: VERSION })}`;
      assert.deepEqual(received(await call()).identities, client === 'legacy' ? [] : [own]);
    });

    for (const [what, result] of Object.entries(results)) {
      for (const [lane, answer] of [
        ['JSON', answerJson],
        ['an event stream', answerSse],
      ] as const) {
        const skip = lane !== 'JSON' && /[\r\n]/.test(result) && 'an event has one line per data field';
        test(`${what}, sent as ${lane}`, { skip }, async () => {
          const legacy: BackendOptions['on'] = ({ recorded }) =>
            recorded.method === 'tools/call' ? answer(result) : undefined;
          backend.set({ on: era === 'modern' ? modern(answer, result) : legacy });
          const { members, meta } = received(await call());
          const expected = received({ text: `{"result":${result}}` } as RawAnswer);
          assert.deepEqual(members, expected.members);
          assert.deepEqual(meta, expected.meta);
        });
      }
    }
  });
}

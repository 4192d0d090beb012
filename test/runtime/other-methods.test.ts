import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultOf } from '../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

let docs: FixtureBackend;
let mail: FixtureBackend;
let running: Running;
let session: RawSession;
before(async () => {
  docs = await startBackend({
    lists: {
      prompts: ['{"name":"summarise","arguments":[{"name":"page"}]}'],
      resources: ['{"uri":"docs://start","name":"start","x-odd":1.0}'],
      resourceTemplates: ['{"uriTemplate":"docs://page/{id}","name":"page"}'],
    },
  });
  mail = await startBackend({ lists: { prompts: ['{"name":"reply"}'], resources: ['{"uri":"mail://1","name":"1"}'] } });
  running = await startRuntime(configFile({ docs: docs.url, mail: mail.url }));
  session = await openSession(running.url);
});
after(async () => {
  await running.stop();
  await Promise.all([docs.close(), mail.close()]);
});

const lastOf = (backend: FixtureBackend, method: string) =>
  backend.requests.findLast((request) => request.method === method)?.params;

describe('lists', () => {
  test('of prompts join those of all backends, named like tools', async () => {
    assert.deepEqual(resultOf(await session.request('prompts/list')), {
      prompts: [{ name: 'docs_summarise', arguments: [{ name: 'page' }] }, { name: 'mail_reply' }],
    });
  });

  test('of resources keep URIs, and every member as it was written', async () => {
    const { text } = await session.request('resources/list');
    assert.match(text, /\{"uri":"docs:\/\/start","name":"start","x-odd":1\.0\},\{"uri":"mail:\/\/1","name":"1"\}/);
  });

  test('of templates keep them as they are', async () => {
    assert.deepEqual(resultOf(await session.request('resources/templates/list')), {
      resourceTemplates: [{ uriTemplate: 'docs://page/{id}', name: 'page' }],
    });
  });

  test('ask a backend only for what it advertises', () => {
    assert.equal(mail.requests.filter(({ method }) => method === 'resources/templates/list').length, 1);
    assert.equal(docs.requests.filter(({ method }) => method === 'prompts/list').length, 1);
  });
});

describe('a request goes to the backend that owns what it names', () => {
  test('prompts/get, under the prompt’s own name', async () => {
    const answer = await session.request('prompts/get', { name: 'docs_summarise', arguments: { page: 'a' } });
    assert.match(answer.text, /prompt summarise/);
    assert.deepEqual(lastOf(docs, 'prompts/get'), { name: 'summarise', arguments: { page: 'a' } });
  });

  test('resources/read, by a listed URI', async () => {
    await session.request('resources/read', { uri: 'mail://1' });
    assert.deepEqual(lastOf(mail, 'resources/read'), { uri: 'mail://1' });
  });

  test('resources/read, by a template', async () => {
    await session.request('resources/read', { uri: 'docs://page/7' });
    assert.deepEqual(lastOf(docs, 'resources/read'), { uri: 'docs://page/7' });
  });

  test('completion/complete, for a prompt and for a template', async () => {
    const argument = { name: 'page', value: 'o' };
    const ofPrompt = await session.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'docs_summarise' },
      argument,
    });
    assert.deepEqual(resultOf(ofPrompt), { completion: { values: ['one', 'two'] } });
    assert.deepEqual(lastOf(docs, 'completion/complete'), { ref: { type: 'ref/prompt', name: 'summarise' }, argument });
    const ref = { type: 'ref/resource', uri: 'docs://page/{id}' };
    await session.request('completion/complete', { ref, argument });
    assert.deepEqual(lastOf(docs, 'completion/complete'), { ref, argument });
  });

  test('resources/subscribe and unsubscribe', async () => {
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      assert.deepEqual(resultOf(await session.request(method, { uri: 'docs://start' })), {});
      assert.deepEqual(lastOf(docs, method), { uri: 'docs://start' });
    }
  });
});

describe('refused with -32602 and sent to no backend:', () => {
  const rows: readonly (readonly [string, string, object])[] = [
    ['an unknown prompt', 'prompts/get', { name: 'summarise' }],
    ['an unknown URI', 'resources/read', { uri: 'other://1' }],
    ['a URI that is missing', 'resources/read', {}],
    ['a reference to nothing', 'completion/complete', { ref: { type: 'ref/tool', name: 'x' }, argument: {} }],
    ['a prompt without a name', 'completion/complete', { ref: { type: 'ref/prompt' }, argument: {} }],
  ];
  for (const [what, method, params] of rows)
    test(what, async () => {
      const before = count(docs, method) + count(mail, method);
      assert.equal(errorOf(await session.request(method, params)).code, -32602);
      assert.equal(count(docs, method) + count(mail, method), before);
    });
});

test('a reference whose name could be read in two ways is refused', async () => {
  const answer = await session.send(
    '{"jsonrpc":"2.0","id":99,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"docs_summarise","Name":"x"},"argument":{}}}',
  );
  assert.equal(errorOf(answer).code, -32600);
});

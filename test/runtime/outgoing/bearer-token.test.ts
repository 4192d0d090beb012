import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { resultText } from '../../fixtures/answers.ts';
import { answerStatus } from '../../fixtures/backend.ts';
import { type OutgoingGateway, type SecretFiles, secretFiles, startOutgoing } from '../../fixtures/outgoing.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';

describe('bearer_token', () => {
  let files: SecretFiles;
  let gateway: OutgoingGateway;
  let right = 'Bearer first';
  before(async () => {
    files = await secretFiles();
    gateway = await startOutgoing({
      strategy: { type: 'bearer_token', bearerToken: { tokenFile: await files.write('token', 'first\n') } },
      backend: {
        hasStream: true,
        on: ({ recorded: { headers } }) => (headers.authorization === right ? undefined : answerStatus(401)),
      },
    });
  });
  after(async () => {
    await gateway.stop();
    await files.close();
  });

  const sent = () => new Set(gateway.backend.requests.map(({ headers }) => headers.authorization));

  covers('outgoing.bearer-token.value');
  test('the token of the file is sent with every request, in place of what the client sends', async () => {
    const session = await openSession(gateway.running.url, { sampling: {} }, { authorization: 'Bearer of-the-client' });
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    await session.end();
    await gateway.backend.received(({ http }) => http === 'DELETE');
    assert.deepEqual(sent(), new Set(['Bearer first']));
  });

  test('a session goes on with a rotated token, and no call of it fails', async () => {
    const session = await openSession(gateway.running.url);
    await session.call('a_echo');
    await files.write('token', 'second');
    right = 'Bearer second';
    assert.equal(resultText(await session.call('a_echo', { long: 'x'.repeat(100_000) })).length, 100_016);
    await session.end();
  });

  test('a token that would add a header is not sent', async () => {
    await files.write('token', 'second\r\nX-Admin: true');
    gateway.clock.advance(1_000);
    const before = gateway.backend.requests.length;
    const refused = await sendModern(gateway.running.url, {});
    assert.match(resultText(refused), /\(bearer_token\): the token has characters that it may not have$/);
    assert.equal(gateway.backend.requests.length, before);
  });
});

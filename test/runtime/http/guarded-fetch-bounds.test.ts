import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { describe, test } from 'node:test';
import { fails, fetchingOfEachTest } from '../../fixtures/guarded-fetch.ts';

const fetching = fetchingOfEachTest();
const { open } = fetching;

describe('the size of an answer', () => {
  test('may be all that the policy allows', async () => {
    fetching.server.answer((_request, response) => void response.end('x'.repeat(1_000)));
    assert.equal((await open({ maxBodyBytes: 1_000 }).fetch({ url: fetching.server.origin })).body.length, 1_000);
  });

  test('is refused as soon as it is announced', async () => {
    fetching.server.answer((_request, response) => response.writeHead(200, { 'content-length': 1_001 }).flushHeaders());
    await assert.rejects(open({ maxBodyBytes: 1_000 }).fetch({ url: fetching.server.origin }), fails('body_too_large'));
  });

  test('is bounded where nothing announces it, and the connection is cut', async () => {
    fetching.server.answer((_request, response) => {
      const more = (): void => void (response.destroyed || response.write('x'.repeat(500), () => setImmediate(more)));
      more();
    });
    const coming = fetching.server.next();
    const refused = assert.rejects(
      open({ maxBodyBytes: 1_000 }).fetch({ url: fetching.server.origin }),
      fails('body_too_large'),
    );
    await once(await coming, 'close');
    await refused;
  });

  test('counts the head apart', async () => {
    const { fetch } = open({ maxHeadBytes: 1_000 });
    fetching.server.answer((_request, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(1_000) }).end());
    await assert.rejects(fetch({ url: fetching.server.origin }), fails('head_too_large'));
    fetching.server.answer((_request, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(500) }).end());
    assert.equal((await fetch({ url: fetching.server.origin })).status, 200);
  });

  test('is bounded for a head that never ends', async () => {
    fetching.server.answer((_request, { socket }) => {
      socket?.on('error', () => {});
      socket?.write('HTTP/1.1 200 OK\r\n');
      const more = (): void => void (socket?.destroyed !== false || socket.write('a: b\r\n', () => setImmediate(more)));
      more();
    });
    await assert.rejects(open({ maxHeadBytes: 1_000 }).fetch({ url: fetching.server.origin }), fails('head_too_large'));
  });
});

describe('the time of an exchange', () => {
  test('ends it while no head comes, and cuts the connection', async () => {
    fetching.server.answer(() => {});
    const [coming, answer] = [
      fetching.server.next(),
      open({ timeoutMs: 5_000 }).fetch({ url: fetching.server.origin }),
    ];
    const response = await coming;
    fetching.clock.advance(4_999);
    assert.deepEqual(fetching.clock.pending(), [1]);
    const gone = once(response, 'close');
    fetching.clock.advance(1);
    await assert.rejects(answer, fails('timeout'));
    await gone;
  });

  test('is not prolonged by a body that drips in', async () => {
    fetching.server.answer((_request, response) => void response.write('x'));
    const [coming, answer] = [
      fetching.server.next(),
      open({ timeoutMs: 5_000 }).fetch({ url: fetching.server.origin }),
    ];
    const response = await coming;
    for (let second = 0; second < 4; second += 1) {
      fetching.clock.advance(1_000);
      response.write('x');
    }
    fetching.clock.advance(1_000);
    await assert.rejects(answer, fails('timeout'));
  });

  test('leaves what waits for a connection its turn, but not what was broken off meanwhile', async () => {
    const { fetch } = open({ connections: 1, timeoutMs: 5_000 });
    fetching.server.answer(() => {});
    const [coming, first] = [fetching.server.next(), fetch({ url: `${fetching.server.origin}/first` })];
    const response = await coming;
    fetching.clock.advance(3_000);
    const second = fetch({ url: `${fetching.server.origin}/second` });
    fetching.server.answer((_request, next) => void next.end());
    const third = fetch({ url: `${fetching.server.origin}/third` });
    const stop = new AbortController();
    const fourth = fetch({ url: `${fetching.server.origin}/fourth`, signal: stop.signal });
    stop.abort();
    await assert.rejects(fourth, { name: 'AbortError' });
    response.end();
    assert.equal((await first).status, 200);
    assert.deepEqual([(await second).status, (await third).status], [200, 200]);
    await fetch({ url: `${fetching.server.origin}/fifth` });
    assert.deepEqual(
      fetching.server.requests.map(({ request }) => request.url),
      ['/first', '/second', '/third', '/fifth'],
    );
  });

  test('counts the wait for a connection', async () => {
    const { fetch } = open({ connections: 1, timeoutMs: 5_000 });
    fetching.server.answer(() => {});
    const coming = fetching.server.next();
    const hanging = assert.rejects(fetch({ url: fetching.server.origin }), fails('timeout'));
    const waiting = assert.rejects(fetch({ url: fetching.server.origin }), fails('timeout'));
    await coming;
    fetching.clock.advance(5_000);
    await Promise.all([hanging, waiting]);
    assert.equal(fetching.server.requests.length, 1);
  });

  test('leaves no timer behind', async () => {
    const { fetch } = open();
    await fetch({ url: fetching.server.origin });
    await assert.rejects(fetch({ url: 'http://169.254.169.254/' }));
    assert.deepEqual(fetching.clock.pending(), []);
  });
});

describe('the signal of a request', () => {
  test('breaks it off with its own reason, and cuts the connection', async () => {
    fetching.server.answer(() => {});
    const stop = new AbortController();
    const [coming, answer] = [
      fetching.server.next(),
      open().fetch({ url: fetching.server.origin, signal: stop.signal }),
    ];
    const gone = once(await coming, 'close');
    const reason = new Error('the call was cancelled');
    stop.abort(reason);
    await assert.rejects(answer, (error) => error === reason);
    await gone;
  });

  test('that was aborted before keeps it from being sent', async () => {
    await assert.rejects(open().fetch({ url: fetching.server.origin, signal: AbortSignal.abort() }), {
      name: 'AbortError',
    });
    assert.equal(fetching.server.sockets.length, 0);
  });

  test('is not listened to once the answer is there', async () => {
    const stop = new AbortController();
    const { fetch } = open({ connections: 1 });
    await fetch({ url: fetching.server.origin, signal: stop.signal });
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
    stop.abort();
    await fetch({ url: fetching.server.origin });
    assert.equal(fetching.server.sockets.length, 1);
  });
});

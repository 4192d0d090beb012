import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveConfig } from '../../../runtime/config/live-config.ts';
import { configFile } from '../../fixtures/runtime.ts';

test('a configuration that cannot be prepared is refused with nothing changed', () => {
  let isPrepared = false;
  const live = liveConfig(configFile({}));
  live.onReload(() => {
    if (!isPrepared) throw new TypeError('Invalid URL');
    return () => {};
  });
  const { current, hash } = live;
  const before = { config: current(), hash: hash() };
  const newer = configFile({}, { name: 'newer' });
  assert.deepEqual(live.reload(newer), { ok: false, problems: ['it cannot be served: Invalid URL'] });
  assert.deepEqual({ config: current(), hash: hash() }, before);
  assert.deepEqual(live.refused(), ['it cannot be served: Invalid URL']);
  isPrepared = true;
  assert.deepEqual(live.reload(newer), { ok: true });
  assert.equal(current().name, 'newer');
  assert.equal(live.refused(), undefined);
});

test('what is made of a part of the configuration is made anew only when that part has changed', () => {
  const live = liveConfig(configFile({}));
  const made: string[] = [];
  const name = live.live(
    (config) => ({ name: config.name }),
    (part) => {
      if (part.name === 'bad') throw new Error('no such name');
      made.push(part.name);
      return part.name.toUpperCase();
    },
  );
  live.reload(configFile({}, { metadata: { team: 'x' } }));
  assert.deepEqual([name(), made], ['TEST', ['test']]);
  live.reload(configFile({}, { name: 'newer' }));
  assert.deepEqual(live.reload(configFile({}, { name: 'bad' })).ok, false);
  assert.deepEqual([name(), made], ['NEWER', ['test', 'newer']]);
});

test('what was made of a configuration is closed once another takes its place, or when that is refused', () => {
  const live = liveConfig(configFile({}));
  const closed: string[] = [];
  const name = live.live(
    (config) => config.name,
    (of) => ({ of }),
    ({ of }) => closed.push(of),
  );
  live.onReload(({ name: newer }) => {
    if (newer === 'bad') throw new Error('no such name');
    return () => {};
  });
  live.reload(configFile({}, { metadata: { team: 'x' } }));
  assert.deepEqual(closed, []);
  live.reload(configFile({}, { name: 'bad' }));
  assert.deepEqual([name().of, closed], ['test', ['bad']]);
  live.reload(configFile({}, { name: 'newer' }));
  assert.deepEqual([name().of, closed], ['newer', ['bad', 'test']]);
  live.reload(configFile({}));
  assert.deepEqual([name().of, closed], ['test', ['bad', 'test', 'newer']], 'a change back is a change');
});

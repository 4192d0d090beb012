import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveConfig } from '../../runtime/live-config.ts';
import { configFile } from '../fixtures/runtime.ts';

test('a configuration that cannot be prepared is refused with nothing changed', () => {
  let isPrepared = false;
  const live = liveConfig(configFile({}), () => {
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

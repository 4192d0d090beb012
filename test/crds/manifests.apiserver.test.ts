import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
import { manifestOf, title, valueAt } from './case.ts';
import { allCases } from './cases/index.ts';

let api: ApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

for (const each of allCases) {
  test(`the API server: ${title(each)}`, async () => {
    const { expected } = each;
    const answer = await api.tryToCreate(manifestOf(each));
    if ('stored' in expected) {
      assert.equal(answer.status, 201, answer.message);
      for (const [path, value] of Object.entries(expected.stored))
        assert.deepEqual(valueAt(answer.object, path), value, path);
      return;
    }
    assert.match(String(answer.status), /^4(00|22)$/, 'accepted');
    const words = answer.causes.filter(({ field }) => field === expected.at).map(({ message }) => message);
    assert.ok(
      words.some((message) => message.includes(expected.words)),
      `${expected.at}: ${expected.words}\n${answer.message}`,
    );
  });
}

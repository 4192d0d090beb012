import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeIn } from '../../../operator/offload/judge.ts';
import { server } from '../plan/world.ts';

const withPolicies = (count: number) =>
  server({
    incomingAuth: {
      type: 'anonymous',
      authzConfig: {
        type: 'inline',
        inline: { policies: Array.from({ length: count }, () => 'permit(principal, action, resource);') },
      },
    },
  });

test('policies are judged in the thread unless they are few', async () => {
  const sent: string[] = [];
  const run = async (task: string) => {
    sent.push(task);
    return { violations: [], askedFor: [] };
  };
  const judge = judgeIn({ run });
  assert.deepEqual((await judge(withPolicies(2), [])).violations, []);
  assert.deepEqual(sent, []);
  await judge(withPolicies(200), []);
  assert.deepEqual(sent, ['judge']);
});

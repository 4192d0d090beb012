import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateIn } from '../../../operator/offload/validate.ts';
import { server } from '../plan/plan-of-demo.ts';

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

test('policies are validated in the thread unless they are few', async () => {
  const sent: string[] = [];
  const run = async (task: string) => {
    sent.push(task);
    return { violations: [], askedFor: [] };
  };
  const validate = validateIn({ run });
  assert.deepEqual((await validate(withPolicies(2), [])).violations, []);
  assert.deepEqual(sent, []);
  await validate(withPolicies(200), []);
  assert.deepEqual(sent, ['validate']);
});

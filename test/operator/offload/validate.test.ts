import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateHere, validateIn } from '../../../operator/offload/validate.ts';
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

test('policies are validated in the thread, however few: it loads Cedar', async () => {
  const sent: string[] = [];
  const run = async (task: string) => {
    sent.push(task);
    return { violations: [], askedFor: [], questionable: [] };
  };
  const validate = validateIn({ run });
  await validate(server({ incomingAuth: { type: 'anonymous' } }), []);
  assert.deepEqual(sent, []);
  await validate(withPolicies(1), []);
  assert.deepEqual(sent, ['validate']);
});

test('what policies probably do not mean is told beside what is wrong with an object', async () => {
  const named = server({
    incomingAuth: {
      type: 'anonymous',
      authzConfig: { type: 'inline', inline: { policies: ['permit(principal is Person, action, resource);'] } },
    },
  });
  const { violations, questionable } = await validateHere(named, []);
  assert.deepEqual(violations, []);
  assert.match(questionable[0]?.reason ?? '', /no entities of type Person/);
});

test('so is what workflows probably do not mean', async () => {
  const steps = [
    { id: 'a', type: 'tool', tool: 'x.y' },
    { id: 'b', type: 'tool', tool: 'x.y', arguments: { q: '{{.steps.a.output.id}}' } },
  ];
  const named = server({ config: { compositeTools: [{ name: 'w', steps }] } });
  const { violations, questionable } = await validateHere(named, []);
  assert.deepEqual(violations, []);
  assert.deepEqual(
    questionable.map(({ path }) => path),
    ['spec.config.compositeTools[0].steps[1].dependsOn'],
  );
});

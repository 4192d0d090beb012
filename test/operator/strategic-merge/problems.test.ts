import assert from 'node:assert/strict';
import { test } from 'node:test';
import { POD_TEMPLATE_KEYS, patchProblems } from '../../../operator/strategic-merge/index.ts';
import { patches } from './patches.ts';

const told = (patch: object): readonly string[] =>
  patchProblems({ ...patch }, POD_TEMPLATE_KEYS).map(({ path, reason, remedy }) => `${path}: ${reason}; ${remedy}`);

test('what kubectl merges has no problem, values of a wrong type aside', () => {
  const found = patches.filter(([, patch]) => told(patch).length > 0).map(([title]) => title);
  assert.deepEqual(found, []);
});

const containers = (...list: readonly unknown[]) => ({ spec: { containers: list } });

const refused: readonly (readonly [patch: object, problems: readonly string[]])[] = [
  [
    containers({ image: 'x' }),
    ['spec.containers[0]: has no name; set name, by which the elements of this list are told apart'],
  ],
  [containers('vmcp'), ['spec.containers[0]: is no map; write a map with name']],
  [{ spec: { containers: { name: 'vmcp' } } }, ['spec.containers: is no list; write a list']],
  [{ spec: [] }, ['spec: is no map; write a map']],
  [{ metadata: 'x', spec: 1 }, ['metadata: is no map; write a map', 'spec: is no map; write a map']],
  [
    containers({ name: 'vmcp', env: [{ value: 'x' }] }),
    ['spec.containers[0].env[0]: has no name; set name, by which the elements of this list are told apart'],
  ],
  [
    containers({ name: 'a' }, { name: 'b' }, { name: 'a' }),
    ['spec.containers[2]: name a is in this list twice; put both into one element'],
  ],
  [
    containers({ name: 'a', $patch: 'replace' }),
    ['spec.containers[0]: $patch: replace speaks for the whole list; put it into an element of its own'],
  ],
  [
    containers({ $patch: 'delete' }),
    ['spec.containers[0]: has no name; set name, by which the elements of this list are told apart'],
  ],
  [
    containers({ name: 'a', $patch: 'merge' }),
    ['spec.containers[0].$patch: "merge" is no such word; write delete or replace; without it, maps are merged'],
  ],
  [
    { spec: { nodeSelector: { $patch: true } } },
    ['spec.nodeSelector.$patch: true is no such word; write delete or replace; without it, maps are merged'],
  ],
  [
    { spec: { tolerations: [{ key: 'a', $patch: 'delete' }] } },
    ['spec.tolerations[0]: $patch has no meaning in a list that is replaced as a whole; remove it'],
  ],
  [
    { spec: { $remove: ['x'] } },
    [
      'spec.$remove: is no directive; use $patch, $retainKeys, $setElementOrder/<field> or $deleteFromPrimitiveList/<field>',
    ],
  ],
  [
    { spec: { volumes: [{ name: 'a', $retainKeys: ['name'], emptyDir: {} }] } },
    ['spec.volumes[0].$retainKeys: lacks emptyDir, which is set beside it; add emptyDir, or remove it'],
  ],
  [{ spec: { $retainKeys: 'x' } }, ['spec.$retainKeys: is no list; list the fields that stay']],
  [
    containers({ name: 'vmcp', '$deleteFromPrimitiveList/args': 'x' }),
    ['spec.containers[0].$deleteFromPrimitiveList/args: is no list; write a list'],
  ],
  [
    { spec: { '$setElementOrder/containers': ['vmcp'] } },
    ['spec.$setElementOrder/containers: has an element without name; write a map with name for each element'],
  ],
  [
    { spec: { containers: [{ name: 'a' }, { name: 'b' }], '$setElementOrder/containers': [{ name: 'b' }] } },
    [
      'spec.$setElementOrder/containers: differs from the order of the elements that are set; name all of them, in their order',
    ],
  ],
];

for (const [patch, problems] of refused) {
  test(`refused with a remedy: ${problems[0]}`, () => assert.deepEqual(told(patch), problems));
}

test('ports of one number may differ in protocol', () => {
  const ports = [
    { containerPort: 53, protocol: 'TCP' },
    { containerPort: 53, protocol: 'UDP' },
  ];
  assert.deepEqual(told(containers({ name: 'dns', ports })), []);
});

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `e${index}` }));

test('of many elements each that repeats an earlier one is reported', () => {
  const list = [...many(1000), { name: 'e0' }, { name: 'x' }, { name: 'e999' }, { name: 'e0' }];
  const twice = (index: number, name: string) =>
    `spec.volumes[${index}]: name ${name} is in this list twice; put both into one element`;
  assert.deepEqual(told({ spec: { volumes: list } }), [twice(1000, 'e0'), twice(1002, 'e999'), twice(1003, 'e0')]);
});

test('an order of many elements is reported where two of them stand the other way round', () => {
  const ordered = (order: readonly unknown[]) =>
    told({ spec: { volumes: many(500), '$setElementOrder/volumes': order } });
  const [first, second, ...rest] = many(500);
  assert.deepEqual(ordered([{ name: 'new' }, ...many(500), { name: 'e0' }]), []);
  assert.equal(ordered([second, first, ...rest]).length, 1);
  assert.equal(ordered(many(499)).length, 1);
});

test('a field whose name has dots is not the list of that path', () => {
  assert.deepEqual(told({ 'spec.containers': [{ image: 'x' }] }), []);
});

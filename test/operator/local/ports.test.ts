import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignPorts } from '../../../operator/local/ports.ts';

const free = (): Promise<boolean> => Promise.resolve(true);
const request = { servers: ['a', 'b'], kept: {}, wanted: {} };

test('servers get 4483, 4493 … in the order of their names', async () => {
  assert.deepEqual(await assignPorts(request, free), { a: 4483, b: 4493 });
});

test('a server may be called like a property of every object', async () => {
  assert.deepEqual(await assignPorts({ ...request, servers: ['constructor', 'demo'] }, free), {
    constructor: 4483,
    demo: 4493,
  });
});

test('a server keeps its first port, also while it is away', async () => {
  assert.deepEqual(await assignPorts({ ...request, servers: ['b'], kept: { a: 4483 } }, free), { a: 4483, b: 4493 });
  assert.deepEqual(await assignPorts({ ...request, kept: { b: 4483 } }, free), { b: 4483, a: 4493 });
});

test('what local.yaml says wins, and no other server gets that pair', async () => {
  assert.deepEqual(await assignPorts({ ...request, kept: { a: 4483 }, wanted: { a: 9000 } }, free), {
    a: 9000,
    b: 4483,
  });
  assert.deepEqual(await assignPorts({ ...request, wanted: { a: 4484 } }, free), { a: 4484, b: 4493 });
});

test('a pair of which one port is taken on this machine is passed over', async () => {
  const isFree = (port: number): Promise<boolean> => Promise.resolve(port !== 4484 && port !== 4493);
  assert.deepEqual(await assignPorts({ ...request, servers: ['a'] }, isFree), { a: 4503 });
});

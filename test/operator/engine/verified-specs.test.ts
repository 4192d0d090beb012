import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VerifiedSpecs } from '../../../operator/engine/verified-specs.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { Accepted } from '../../../operator/plan/server/bundle.ts';

const server = (generation: number, acceptedGeneration?: number): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'gw', namespace: 'default', uid: 'u', generation },
  status: { extensions: { acceptedGeneration } },
});

const accepted = (generation: number, files: Accepted['files'] = { 'config.yaml': 'a' }): Accepted => ({
  generation,
  written: {},
  ...(files && { files }),
});
const withoutFiles = (generation: number): Accepted => ({ generation, written: {} });

test('what was proven once is known when nothing proves it any more, with its files', () => {
  const specs = new VerifiedSpecs();
  assert.equal(specs.last(server(1), undefined), undefined);
  const first = accepted(1);
  assert.equal(specs.last(server(1), first), first);
  assert.equal(specs.last(server(2, 1), undefined), first);
  assert.equal(specs.last(server(2, 1), withoutFiles(1)), first);
});

test('what is proven now wins, unless it is from before', () => {
  const specs = new VerifiedSpecs();
  const [second, third] = [accepted(2), accepted(3)];
  specs.last(server(2), second);
  assert.equal(specs.last(server(3), accepted(1)), second);
  assert.equal(specs.last(server(3), third), third);
  assert.equal(specs.last(server(3), undefined), third);
});

test('what status tells to be outdated is not known, nor what a backup has undone', () => {
  const specs = new VerifiedSpecs();
  specs.last(server(5), accepted(5));
  assert.equal(specs.last(server(6, 6), undefined), undefined);
  const restored = accepted(3);
  assert.equal(specs.last(server(4, 3), restored), restored);
  assert.equal(specs.last(server(4, 3), undefined), restored);
});

test('nothing is known of a server that is gone', () => {
  const specs = new VerifiedSpecs();
  specs.last(server(1), accepted(1));
  specs.forget('u');
  assert.equal(specs.last(server(1), undefined), undefined);
});

test('what is known of the servers of one namespace has a bound; what is beyond it only its ConfigMaps prove', () => {
  const specs = new VerifiedSpecs(25_000);
  const named = (uid: string, namespace = 'default'): KubeObject => ({
    ...server(1),
    metadata: { ...server(1).metadata, uid, namespace },
  });
  const large = accepted(1, { 'config.yaml': 'x'.repeat(10_000) });
  for (const uid of ['a', 'b', 'c']) assert.equal(specs.last(named(uid), large), large);
  assert.equal(specs.last(named('d', 'another'), large), large);
  const known = (uid: string, namespace?: string): boolean => specs.last(named(uid, namespace), undefined) === large;
  assert.deepEqual([known('a'), known('b'), known('c'), known('d', 'another')], [true, true, false, true]);
  specs.forget('a');
  specs.last(named('c'), large);
  assert.deepEqual([known('a'), known('b'), known('c')], [false, true, true]);
});

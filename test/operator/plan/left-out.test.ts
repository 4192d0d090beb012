import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { API_VERSION } from '../../../crds/index.ts';
import { affectedKeys } from '../../../operator/engine/fan-out.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import { parseManifests } from '../../../operator/read/manifests.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { withoutSpec } from '../../../operator/validate/index.ts';
import { violation } from '../../../operator/validate/validator.ts';
import { DEFAULT_SETTINGS, readGolden } from './golden.ts';
import { made } from './made.ts';
import { group, planOf, server } from './plan-of-demo.ts';

const MANIFESTS = join(import.meta.dirname, '../../manifests');
const why = { ...violation('spec', 'is not read', 'make room'), conditionReason: 'TooLarge' } as const;
const kinds = reconciledKinds();

const manifestSets = readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => ({
    name,
    objects: parseManifests([{ name, text: readGolden(join(MANIFESTS, name)).input }]).objects,
  }));

/** Looks at everything that the loss of the spec concerns, as the watches and the reconciles do. */
const follow = (objects: readonly KubeObject[], at: number): void => {
  const before = objects[at] ?? assert.fail();
  const after = withoutSpec(before, why);
  const source = objectsSource(objects.with(at, after));
  for (const key of affectedKeys(kinds, source, { before, after })) {
    if (key.name === before.metadata.name && key.kind === before.kind) continue;
    const kind = kinds.find((each) => each.kind === key.kind);
    const bundle = kind?.resolve(source, key);
    if (kind !== undefined && bundle !== undefined && kind.complete === undefined) kind.plan(bundle, DEFAULT_SETTINGS);
  }
};

test('an object whose spec is not held harms no other object', () => {
  let followed = 0;
  for (const { name, objects } of manifestSets)
    for (const [at, object] of objects.entries()) {
      if (object.apiVersion !== API_VERSION) continue;
      followed += 1;
      assert.doesNotThrow(() => follow(objects, at), `${name}: ${object.kind} ${keyOf(object).name}`);
    }
  assert.ok(followed > 250, String(followed));
});

test('a server shares no value with others while its spec is not held', () => {
  const incomingAuth = {
    type: 'oidc',
    oidcConfigRef: { name: 'idp', audience: 'a' },
  };
  const [one, other] = ['one', 'other'].map((name) =>
    made('VirtualMCPServer', name, { groupRef: { name: 'tools' }, incomingAuth }),
  );
  assert.ok(one && other);
  follow([one, other], 0);
  follow([one, other], 1);
});

const remoteUrl = 'https://github.example.com/mcp';
const members = [
  made('MCPServer', 'github', { groupRef: { name: 'tools' }, image: 'github:1', transport: 'streamable-http' }),
  made('MCPRemoteProxy', 'github', { groupRef: { name: 'tools' }, remoteUrl }),
  made('MCPServerEntry', 'github', { groupRef: { name: 'tools' }, remoteUrl, transport: 'streamable-http' }),
];
for (const member of members)
  test(`a member whose spec is not held is not contacted, since nothing tells how it is authenticated to: ${member.kind}`, () => {
    const backendOf = (object: KubeObject): string =>
      JSON.stringify(planOf({ objects: [group(), object, server()] }).status?.['discoveredBackends']);
    assert.doesNotMatch(backendOf(member), /is not read/);
    assert.match(backendOf(withoutSpec(member, why)), /is not read/);
  });

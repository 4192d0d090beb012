import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import type { LookUp } from '../../../operator/validate/index.ts';
import { server } from '../plan/plan-of-demo.ts';
import { authServer, fine, oidc, refused } from './cases.ts';
import { made } from '../plan/made.ts';
import { toldOf } from './violation-texts.ts';

const stored = (kind: string, spec: object): KubeObject => made(kind, 'it', spec);

const told = (kind: string, spec: object, lookUp?: LookUp): readonly string[] => toldOf(stored(kind, spec), lookUp);

fine.forEach(([kind, spec], index) => {
  test(`${kind}: what is right breaks no rule (${index})`, () => assert.deepEqual(told(kind, spec), []));
});

for (const [kind, why, spec, violations] of refused) {
  test(`${kind}: ${why} is reported with what to do`, () => assert.deepEqual(told(kind, spec), violations));
}

const sees =
  (...objects: readonly KubeObject[]): LookUp =>
  (kind) =>
    objects.find((object) => object.kind === kind);

test('an embedded server that issues other tokens than those that are accepted is told once both are there', () => {
  const spec = {
    ...(server()['spec'] as object),
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'it', audience: 'a' } },
    authServerConfig: authServer({}),
  };
  const [same, other] = ['https://auth.example.com', 'https://idp.example.com'].map((issuer) =>
    stored('MCPOIDCConfig', oidc({ issuer })),
  ) as [KubeObject, KubeObject];
  assert.deepEqual(told('VirtualMCPServer', spec), []);
  assert.deepEqual(told('VirtualMCPServer', spec, sees(same)), []);
  assert.deepEqual(told('VirtualMCPServer', spec, sees(other)), [
    'spec.authServerConfig.issuer: issues tokens of another issuer than MCPOIDCConfig it accepts; make both issuers the same',
  ]);
});

test('policies may name an upstream provider of the embedded server, and no other', () => {
  const spec = (primaryUpstreamProvider: string) => ({
    ...(server()['spec'] as object),
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: { name: 'it', audience: 'a' },
      authzConfig: {
        type: 'inline',
        inline: { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider },
      },
    },
    authServerConfig: authServer({}),
  });
  assert.deepEqual(told('VirtualMCPServer', spec('idp')), []);
  assert.deepEqual(told('VirtualMCPServer', spec('other')), [
    'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider: no upstream provider is called other; name one of idp',
  ]);
});

const withEmbeddedServer = [
  ['MCPServer', { image: 'a' }],
  ['MCPRemoteProxy', { remoteUrl: 'https://a.example.com/mcp' }],
] as const;

for (const [kind, own] of withEmbeddedServer) {
  test(`an ${kind} that asks for access control and does not say whose tokens it accepts is refused, however it was stored`, () => {
    const authzConfig = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
    const spec = { ...own, authzConfig, authServerRef: { name: 'it' } };
    assert.deepEqual(toldOf({ ...stored(kind, own), spec }), [
      'spec.authzConfig: authzConfig judges who calls, which nobody knows without oidcConfigRef; set oidcConfigRef',
      'spec.authServerRef: authServerRef issues tokens, which nobody checks without oidcConfigRef; set oidcConfigRef',
    ]);
  });

  test(`the embedded server of an ${kind} is of that type, has one upstream provider, and is named in its own place`, () => {
    const spec = { ...own, authServerRef: { name: 'it' }, oidcConfigRef: { name: 'it', audience: 'a' } };
    const [idp] = authServer({}).upstreamProviders;
    const two = authServer({ upstreamProviders: [idp, { ...idp, name: 'second' }] });
    const config = (embeddedAuthServer: object) =>
      stored('MCPExternalAuthConfig', { type: 'embeddedAuthServer', embeddedAuthServer });
    const one = config(authServer({}));
    assert.deepEqual(told(kind, spec, sees(one)), []);
    assert.deepEqual(
      told(kind, spec, sees(one, stored('MCPOIDCConfig', oidc({ issuer: 'https://auth.example.com' })))),
      [],
    );
    assert.deepEqual(told(kind, spec, sees(one, stored('MCPOIDCConfig', oidc({})))), [
      'spec.authServerRef: issues tokens of another issuer than MCPOIDCConfig it accepts; make both issuers the same',
    ]);
    assert.deepEqual(told(kind, spec, sees(config(two))), [
      'spec.authServerRef: MCPExternalAuthConfig it has more than one upstream provider, or none; name one with a single upstream provider',
    ]);
    const misplaced = { ...own, externalAuthConfigRef: { name: 'it' } };
    assert.deepEqual(told(kind, misplaced, sees(one)), [
      'spec.externalAuthConfigRef: MCPExternalAuthConfig it is of type embeddedAuthServer, which is for clients and not for a server; name it in authServerRef, with an oidcConfigRef',
    ]);
    assert.deepEqual(told(kind, spec, sees(stored('MCPExternalAuthConfig', { type: 'unauthenticated' }))), [
      'spec.authServerRef: MCPExternalAuthConfig it is of another type; name one of type embeddedAuthServer',
    ]);
  });
}

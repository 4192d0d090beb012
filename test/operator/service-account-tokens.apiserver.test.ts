import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { parse } from 'yaml';
import { until } from '../cluster/index.ts';
import { covers } from '../requirements.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { made } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);

interface Oidc {
  readonly issuer: string;
  readonly audience: string;
  readonly issuerKeys: JSONWebKeySet;
}

const rendered = (): Promise<Oidc> =>
  until('the configuration', async () => {
    const [configMap] = await cluster.childrenOf('gateway', 'configmap');
    const { 'config.yaml': text = '' } = (configMap?.['data'] ?? {}) as Readonly<Record<string, string>>;
    const config = parse(text) as { readonly incomingAuth?: { readonly oidc?: Oidc } } | null;
    return config?.incomingAuth?.oidc;
  });

const newToken = async (): Promise<string> =>
  (await cluster.kubectl(['create', 'token', 'default', '--audience', 'gateway'])).trim();

const template = async (): Promise<unknown> =>
  ((await cluster.get('deployment', 'vmcp-gateway'))['spec'] as { readonly template: unknown }).template;

covers('oidcconfig.cluster-service-account.issuer', 'oidcconfig.cluster-service-account.validates');
test('the configuration has issuer and keys of the API server, with which its tokens can be verified', async () => {
  const incomingAuth = { type: 'oidc', oidcConfigRef: { name: 'cluster', audience: 'gateway' } };
  await cluster.apply(
    made('MCPGroup', 'tools', {}),
    made('MCPOIDCConfig', 'cluster', { type: 'clusterServiceAccount', clusterServiceAccount: {} }),
    made('VirtualMCPServer', 'gateway', { groupRef: { name: 'tools' }, incomingAuth }),
  );
  const { issuer, audience, issuerKeys } = await rendered();
  const published = JSON.parse(await cluster.kubectl(['get', '--raw', '/openid/v1/jwks'])) as JSONWebKeySet;
  assert.deepEqual([issuer, issuerKeys.keys], ['https://kubernetes.default.svc', published.keys]);
  const { payload } = await jwtVerify(await newToken(), createLocalJWKSet(issuerKeys), { issuer, audience });
  assert.equal(payload.sub, 'system:serviceaccount:default:default');
});

/** Kubernetes "Managing Service Accounts": the first key of the file signs, all of them verify. */
const rotate = async (): Promise<void> => {
  const { serviceAccountKey: file, restartApiServer } = cluster.plane;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ type: 'pkcs1', format: 'pem' });
  await writeFile(file, `${key.toString()}${await readFile(file, 'utf8')}`);
  await restartApiServer();
};

covers('oidcconfig.cluster-service-account.validates');
test('when the API server signs with another key, that key is rendered beside the old one, and no pod is replaced', async () => {
  const [before, old] = [await template(), await newToken()];
  await rotate();
  const token = await newToken();
  const { kid } = decodeProtectedHeader(token);
  assert.notEqual(kid, decodeProtectedHeader(old).kid);
  await cluster.restartOperator();
  const { issuerKeys } = await until('the new key', async () => {
    const oidc = await rendered();
    return oidc.issuerKeys.keys.some((key) => key.kid === kid) ? oidc : undefined;
  });
  for (const each of [token, old]) await jwtVerify(each, createLocalJWKSet(issuerKeys), { audience: 'gateway' });
  assert.deepEqual(await template(), before);
});

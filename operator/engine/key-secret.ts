import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { JWK } from 'jose';
import { z } from 'zod';
import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

export const secretName = 'vmcp-operator-management';

/** One private key, and since when it is there. */
export interface Key {
  readonly madeAtMs: number;
  readonly jwk: JWK;
}

/** Generates an Ed25519 key whose id is its thumbprint (RFC 7638). */
export const newKey = async (nowMs: number): Promise<Key> => {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  return { madeAtMs: nowMs, jwk: { ...jwk, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(jwk) } };
};

const dataKey = 'keys.json';

/** The Secret with these keys, newest first. */
export const secretOf = (namespace: string, keys: readonly Key[]): KubeObject => {
  const listed = keys.map(({ madeAtMs, jwk }) => ({ madeAt: new Date(madeAtMs).toISOString(), jwk }));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace, labels: { 'app.kubernetes.io/managed-by': fieldManager } },
    type: 'Opaque',
    data: { [dataKey]: Buffer.from(JSON.stringify({ keys: listed })).toString('base64') },
  };
};

const contentSchema = z.object({
  keys: z
    .array(
      z.object({
        madeAt: z.iso.datetime(),
        jwk: z.looseObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string(), d: z.string() }),
      }),
    )
    .min(1),
});

/** The keys of the Secret, newest first. Throws when there is none to be found in it. */
export const keysIn = (secret: KubeObject): readonly Key[] => {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  const content = contentSchema.safeParse(valueIn(Buffer.from(data[dataKey] ?? '', 'base64').toString('utf8')));
  if (!content.success) {
    throw new Error(`Secret ${secretName} has no keys in ${dataKey}; delete it and new ones are made`);
  }
  return content.data.keys
    .map(({ madeAt, jwk }) => ({ madeAtMs: Date.parse(madeAt), jwk }))
    .toSorted((a, b) => b.madeAtMs - a.madeAtMs);
};

const valueIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

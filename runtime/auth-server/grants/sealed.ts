import { createHmac } from 'node:crypto';
import { seal, SEAL_BYTES, unseal } from '../../process/index.ts';
import type { Clock } from '../../process/index.ts';
import { deriveKey, oncePerSecret, type Secrets } from '../keys/secrets.ts';
import { TemporarilyUnavailable } from './unavailable.ts';

/**
 * Encrypts what is kept under an id. The key is made from a secret *and* the id, which is nowhere in the store: neither
 * a dump of the store nor a dump with the secrets opens anything.
 */
export interface Sealer {
  /** JSON, under the current secret. `what` names the purpose; a value is valid for no other. */
  readonly seal: (what: string, id: string, value: object) => Promise<Buffer>;
  /**
   * Undefined: sealed for another purpose or id, changed, or under a secret that is not listed any more. Throws
   * `TemporarilyUnavailable` when it was sealed a short while ago with an unknown secret, which then has not reached
   * this replica yet.
   */
  readonly open: (what: string, id: string, sealed: Buffer) => Promise<Record<string, unknown> | undefined>;
  /** Whether the current secret sealed it. */
  readonly isCurrent: (sealed: Buffer) => Promise<boolean>;
}

/** A mounted Secret reaches all replicas within this time (Kubernetes: sync period of the kubelet and its cache). */
const SECRET_SPREAD_MS = 3 * 60_000;

const VERSION = 1;
const KEY_ID_BYTES = 4;
/** Version, key id, seconds since the epoch. */
const HEADER_BYTES = 1 + KEY_ID_BYTES + 4;

interface SecretKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

export const sealer = ({
  secrets,
  clock,
}: {
  readonly secrets: Secrets;
  readonly clock: Pick<Clock, 'now'>;
}): Sealer => {
  const keys = keysOf(secrets);
  return {
    seal: async (what, id, value) => {
      const [current] = await keys();
      if (!current) throw new TemporarilyUnavailable();
      const header = headerOf(current, clock.now());
      return sealWith(valueKeys(current, what, id), header, Buffer.from(JSON.stringify(value)));
    },
    open: async (what, id, sealed) => {
      if (sealed.length < HEADER_BYTES + SEAL_BYTES || sealed[0] !== VERSION) return undefined;
      const key = (await keys()).find((each) => each.id.equals(keyIdOf(sealed)));
      if (key) return parsed(openWith(valueKeys(key, what, id), sealed));
      if (Math.abs(clock.now() - sealedAtMs(sealed)) < SECRET_SPREAD_MS) throw new TemporarilyUnavailable();
      return undefined;
    },
    isCurrent: async (sealed) => (await keys())[0]?.id.equals(keyIdOf(sealed)) ?? false,
  };
};

/** When the value was sealed, to the second, by the clock of whichever replica did it. */
export const sealedAtMs = (sealed: Buffer): number =>
  sealed.length < HEADER_BYTES ? 0 : sealed.readUInt32BE(1 + KEY_ID_BYTES) * 1_000;

const keysOf = (secrets: Secrets): (() => Promise<readonly SecretKey[]>) => {
  const keyOf = oncePerSecret(keyIn);
  return async () => {
    try {
      return (await secrets()).map(keyOf);
    } catch (error) {
      throw new TemporarilyUnavailable(error);
    }
  };
};

const keyIn = (secret: Buffer): SecretKey => {
  const key = deriveKey(secret, 'grants');
  return { key, id: createHmac('sha256', key).update('key id').digest().subarray(0, KEY_ID_BYTES) };
};

interface ValueKeys {
  readonly encryption: Buffer;
  readonly nonce: Buffer;
}

const valueKeys = ({ key }: SecretKey, what: string, id: string): ValueKeys => {
  const both = createHmac('sha512', key)
    .update(JSON.stringify([what, id]))
    .digest();
  return { encryption: both.subarray(0, 32), nonce: both.subarray(32) };
};

const headerOf = ({ id }: SecretKey, nowMs: number): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES, VERSION);
  id.copy(header, 1);
  header.writeUInt32BE(Math.floor(nowMs / 1_000) % 2 ** 32, 1 + KEY_ID_BYTES);
  return header;
};

const keyIdOf = (sealed: Buffer): Buffer => sealed.subarray(1, 1 + KEY_ID_BYTES);

/**
 * With a nonce made from key and content (as RFC 5297 §1.3.2): it repeats for the same content alone, and no randomness
 * is needed.
 */
const sealWith = (keys: ValueKeys, header: Buffer, content: Buffer): Buffer => {
  const nonce = createHmac('sha256', keys.nonce).update(header).update(content).digest();
  const sealing = { key: keys.encryption, as: header };
  return Buffer.concat([header, seal(content, sealing, (bytes) => nonce.subarray(0, bytes))]);
};

const openWith = ({ encryption }: ValueKeys, sealed: Buffer): Buffer | undefined =>
  unseal(sealed.subarray(HEADER_BYTES), { key: encryption, as: sealed.subarray(0, HEADER_BYTES) });

const parsed = (content: Buffer | undefined): Record<string, unknown> | undefined =>
  content && (JSON.parse(content.toString()) as Record<string, unknown>);

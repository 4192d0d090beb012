import type { JWK } from 'jose';
import { VmcpError } from '../../errors.ts';
import type { Clock, ReadSecret } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import { WatchedFiles } from './watched-files.ts';
import { type MadeKeys, type MadeKeysDeps, ownKeys, sharedKeys } from './made-keys.ts';
import { sealerFor } from './sealer.ts';
import { type KnownSecret, knownSecrets, spreadFirst } from './secret-spread.ts';
import { isTooShort, type ReadBytes, type Secrets, secretIn, secretsIn, TOO_SHORT } from './secrets.ts';
import { type SigningKeys, signingKeysIn } from './signing-keys.ts';
import type { Troubles } from '../troubles.ts';

/** Paths of the keys; an empty list: they are made. */
export interface KeyFiles {
  readonly signing: readonly string[];
  readonly hmac: readonly string[];
}

export interface KeysDeps {
  readonly readSecret: ReadSecret;
  readonly readBytes: ReadBytes;
  readonly clock: Clock;
  /** Whether other replicas use the same secrets: then a new one makes nothing before it can have reached them. */
  readonly isShared: boolean;
  /** Stand in where no files are named. */
  readonly made: MadeKeys;
  /** Hears why they cannot be used, and, with undefined, that they can; more often than that changes. */
  readonly onTrouble?: Troubles['tell'];
}

/** What the authorization server signs and seals with. */
export interface Keys {
  /** Throws `issuer_unavailable` while a file is not usable, as `signing` does. */
  readonly secrets: Secrets;
  /** As `KeysDeps` have it. */
  readonly isShared: boolean;
  readonly signing: () => Promise<SigningKeys>;
  /** The public keys, the same as long as none of them changes. While a file is not usable, those before. */
  readonly published: () => Promise<readonly JWK[]>;
  /** Calls `listener` when other keys are in force; returns the function that ends it. */
  readonly onChanged: (listener: () => void) => () => void;
  /** Why the server must not start with these keys; a file that is not there yet is no such reason. */
  readonly problem: () => Promise<string | undefined>;
  /** Reads them, and again from time to time, before anything is asked for. Never throws. */
  readonly watch: () => Promise<void>;
  readonly close: () => void;
}

/** The keys in the files of the moment, watched as they change; without files, keys that are made. */
export const openKeys = (files: () => KeyFiles, deps: KeysDeps): Keys => {
  const { readSecret, readBytes, clock, isShared, made, onTrouble } = deps;
  const signing = new WatchedFiles({
    read: async () =>
      files().signing.length > 0
        ? Promise.all(files().signing.map((file) => readSecret({ file })))
        : [(await made.current()).signingKey],
    make: async (pems) => keySetOf(await signingKeysIn(pems.map((pem) => pem?.toString()))),
    clock,
    onRead: (failure) => onTrouble?.('signing keys', reasonOf(failure)),
  });
  let known: readonly KnownSecret[] | undefined;
  const secrets = new WatchedFiles({
    read: async () =>
      files().hmac.length > 0 ? Promise.all(files().hmac.map(readBytes)) : [(await made.current()).secret],
    make: (contents) => {
      const found = secretsIn(contents.map((content) => (Buffer.isBuffer(content) ? content : undefined)));
      return (known = knownSecrets(found, isShared ? known : undefined, clock.now()));
    },
    clock,
    onRead: (failure) => onTrouble?.('HMAC secrets', reasonOf(failure)),
  });
  return {
    isShared,
    secrets: async () => spreadFirst(await secrets.current(), clock.now()),
    signing: async () => (await signing.current()).keys,
    published: async () => (await signing.lastUsable()).published,
    onChanged: (listener) => signing.onChanged(listener),
    watch: async () => void (await Promise.allSettled([signing.current(), secrets.current()])),
    problem: async () => {
      const [first] = files().hmac;
      const secret = first === undefined ? undefined : secretIn(await readBytes(first));
      return secret && isTooShort(secret) ? TOO_SHORT : undefined;
    },
    close: () => {
      signing.close();
      secrets.close();
      made.close();
    },
  };
};

/** Without a secret. The store, which made keys may be in, has a word of its own when it is away. */
const reasonOf = (failure: unknown): string | undefined => {
  if (failure === undefined) return undefined;
  if (!(failure instanceof VmcpError)) return 'they cannot be read';
  return failure.code === 'store_unavailable' ? undefined : (failure.detail ?? failure.message);
};

export interface NamedKeysDeps extends Omit<KeysDeps, 'made'>, MadeKeysDeps {
  readonly store: Store;
  readonly random: () => number;
  /** The issuer. */
  readonly boundTo: () => string;
}

/** The keys of these files, or such as are made once they are needed. */
export const keysOf = (files: () => KeyFiles, deps: NamedKeysDeps): Keys => {
  const { isShared, readBytes } = deps;
  let made: MadeKeys | undefined;
  const secretFiles = files().hmac;
  const make = (): MadeKeys => {
    if (!isShared) return ownKeys(deps);
    const secrets = async () => secretsIn(await Promise.all(secretFiles.map(readBytes)));
    return sharedKeys({
      ...deps,
      sealer: secretFiles.length > 0 ? sealerFor('made keys', { ...deps, secrets }) : undefined,
    });
  };
  return openKeys(files, {
    ...deps,
    made: { current: () => (made ??= make()).current(), close: () => made?.close() },
  });
};

interface KeySet {
  readonly keys: SigningKeys;
  readonly published: readonly JWK[];
}

const keySetOf = (keys: SigningKeys): KeySet => ({ keys, published: keys.map(({ publicJwk }) => publicJwk) });

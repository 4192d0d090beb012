import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { secretPath } from './mounted-files.ts';
import { type SecretRef, type ServerSpec, withoutPassword } from './spec.ts';

const PASSWORD_VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';

type Value = Readonly<Record<string, unknown>>;

/** Decisions: `spec.sessionStorage` over `config.sessionStorage`. */
export const sessionStorage = ({ kind, metadata }: KubeObject, { sessionStorage, config }: ServerSpec): unknown => {
  const storage = sessionStorage === undefined ? config?.sessionStorage : withoutPassword(sessionStorage);
  if (storage?.provider !== 'kvstore') return storage;
  // Servers that share a store keep apart without anybody having to think of it; no name has a slash.
  const name = kind === 'VirtualMCPServer' ? metadata.name : `${kind.toLowerCase()}/${metadata.name}`;
  return { ...storage, keyPrefix: storage.keyPrefix ?? `vmcp:${metadata.namespace ?? 'default'}:${name}:` };
};

/** The secret that holds the password; a store in memory needs none. */
const passwordOf = ({ sessionStorage }: ServerSpec): SecretRef | undefined =>
  sessionStorage?.provider === 'kvstore' ? sessionStorage.passwordRef : undefined;

/** `extensions.sessionStore` with the place of the mounted password; on a laptop nothing is mounted, the variable counts. */
export const sessionStore = (spec: ServerSpec, settings: Settings): Value | undefined => {
  const store = spec.config?.extensions?.sessionStore;
  const password = settings.local === undefined ? passwordOf(spec) : undefined;
  return password === undefined ? store : { ...store, passwordFile: secretPath(password, settings) };
};

/**
 * The password reaches the pod twice (decisions "Config in the cluster"): as a file, which follows the secret when it rotates, and as
 * the variable that the spec names. Both are optional: a missing secret makes the store unavailable, and the pod starts.
 */
export const passwordEnv = (spec: ServerSpec): readonly Value[] => {
  const password = passwordOf(spec);
  return password === undefined
    ? []
    : [
        {
          name: PASSWORD_VARIABLE,
          valueFrom: { secretKeyRef: { name: password.name, key: password.key, optional: true } },
        },
      ];
};

import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { type SecretRef, type ServerSpec, withoutPassword } from './spec.ts';

/** decisions "Config in the cluster": `/etc/vmcp/secrets/<secret>/<key>`. */
const SECRETS_DIRECTORY = '/etc/vmcp/secrets';
const SECRETS_VOLUME = 'vmcp-secrets';
const PASSWORD_VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';

type Value = Readonly<Record<string, unknown>>;

/** Decisions: `spec.sessionStorage` over `config.sessionStorage`. */
export const sessionStorage = ({ metadata }: KubeObject, { sessionStorage, config }: ServerSpec): unknown => {
  const storage = sessionStorage === undefined ? config?.sessionStorage : withoutPassword(sessionStorage);
  if (storage?.provider !== 'kvstore') return storage;
  // Servers that share a store keep apart without anybody having to think of it.
  return { ...storage, keyPrefix: storage.keyPrefix ?? `vmcp:${metadata.namespace ?? 'default'}:${metadata.name}:` };
};

/** The secret that holds the password; a store in memory needs none. */
const passwordOf = ({ sessionStorage }: ServerSpec): SecretRef | undefined =>
  sessionStorage?.provider === 'kvstore' ? sessionStorage.passwordRef : undefined;

/** `extensions.sessionStore` with the place of the mounted password; on a laptop nothing is mounted, the variable counts. */
export const sessionStore = (spec: ServerSpec, settings: Settings): Value | undefined => {
  const store = spec.config?.extensions?.sessionStore;
  const password = settings.local === undefined ? passwordOf(spec) : undefined;
  return password === undefined ? store : { ...store, passwordFile: `${SECRETS_DIRECTORY}/${pathOf(password)}` };
};

const pathOf = ({ name, key }: SecretRef): string => `${name}/${key}`;

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

export const passwordMounts = (spec: ServerSpec): readonly Value[] =>
  passwordOf(spec) === undefined ? [] : [{ name: SECRETS_VOLUME, mountPath: SECRETS_DIRECTORY, readOnly: true }];

export const passwordVolumes = (spec: ServerSpec): readonly Value[] => {
  const password = passwordOf(spec);
  if (password === undefined) return [];
  const items = [{ key: password.key, path: pathOf(password) }];
  return [
    { name: SECRETS_VOLUME, projected: { sources: [{ secret: { name: password.name, items, optional: true } }] } },
  ];
};

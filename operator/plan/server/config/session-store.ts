import type { KubeObject } from '../../../object.ts';
import { passwordOf, type ServerSpec, withoutPassword } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import { secretPath } from '../objects/mounted-files.ts';

type Value = Readonly<Record<string, unknown>>;

/** `spec.sessionStorage` over `config.sessionStorage`: docs/decisions.md "Spec before config" */
export const sessionStorage = ({ kind, metadata }: KubeObject, { sessionStorage, config }: ServerSpec): unknown => {
  const storage = sessionStorage === undefined ? config?.sessionStorage : withoutPassword(sessionStorage);
  if (storage?.provider !== 'kvstore') return storage;
  // Servers that share a store get keys of their own without a setting; no name contains a slash.
  const name = kind === 'VirtualMCPServer' ? metadata.name : `${kind.toLowerCase()}/${metadata.name}`;
  return { ...storage, keyPrefix: storage.keyPrefix ?? `vmcp:${metadata.namespace ?? 'default'}:${name}:` };
};

/**
 * `extensions.sessionStore` with the place of the mounted password; on a laptop nothing is mounted, the variable
 * counts.
 */
export const sessionStore = (spec: ServerSpec, settings: Settings): Value | undefined => {
  const store = spec.config?.extensions?.sessionStore;
  const password = settings.local === undefined ? passwordOf(spec) : undefined;
  return password === undefined ? store : { ...store, passwordFile: secretPath(password, settings) };
};

import { FILE_KEY_OF_SECRET_REF } from '../../../../runtime/config/index.ts';
import type { KubeObject } from '../../../object.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { KeyRef } from '../bundle.ts';
import { secretPath } from '../objects/mounted-files.ts';

/** `authServer` of the file: `spec.authServerConfig`, with the places of secrets instead of their references. */
export const authServer = ({ authServerConfig }: ServerSpec, server: KubeObject, settings: Settings): unknown =>
  authServerConfig === undefined ? undefined : withFiles(withNamespace(authServerConfig, server), settings);

/** Names of the upstream identity providers, in order. */
export const upstreamsOf = ({ authServerConfig }: ServerSpec): readonly string[] =>
  (authServerConfig?.upstreamProviders ?? []).map(({ name }) => name);

/** docs/decisions.md "Keys that only the file has": every `…SecretRef(s)` becomes `…File(s)`, in the same order. */
const withFiles = (value: unknown, settings: Settings): unknown => {
  if (Array.isArray(value)) return value.map((each) => withFiles(each, settings));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) =>
      isSecretRef(key) && isRef(each)
        ? [FILE_KEY_OF_SECRET_REF[key], pathsOf(each, settings)]
        : [key, withFiles(each, settings)],
    ),
  );
};

const isSecretRef = (key: string): key is keyof typeof FILE_KEY_OF_SECRET_REF =>
  Object.hasOwn(FILE_KEY_OF_SECRET_REF, key);

/** A map of a user's may have keys that are called the same, and texts as values. */
const isRef = (value: unknown): value is KeyRef | readonly KeyRef[] =>
  Array.isArray(value) ? value.every(isRef) : typeof value === 'object' && value !== null && 'key' in value;

const pathsOf = (refs: KeyRef | readonly KeyRef[], settings: Settings): string | readonly string[] =>
  'name' in refs ? secretPath(refs, settings) : refs.map((ref) => secretPath(ref, settings));

/**
 * `storage.kvstore.sentinelConfig.sentinelService` of docs/configuration.md "authServer"; its namespace is that of the
 * server when left out.
 */
const withNamespace = (config: NonNullable<ServerSpec['authServerConfig']>, server: KubeObject): unknown => {
  const sentinelConfig = config.storage?.kvstore?.sentinelConfig;
  if (sentinelConfig?.sentinelService === undefined) return config;
  const sentinelService = { namespace: server.metadata.namespace ?? 'default', ...sentinelConfig.sentinelService };
  const kvstore = { ...config.storage?.kvstore, sentinelConfig: { ...sentinelConfig, sentinelService } };
  return { ...config, storage: { ...config.storage, kvstore } };
};

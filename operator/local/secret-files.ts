import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../object.ts';

/** The Secrets and ConfigMaps of the directory as files, in a directory that only this user can enter. */
export interface SecretFiles {
  /** Holds `<namespace>/secrets/<secret>/<key>` and `<namespace>/configmaps/<configmap>/<key>`. */
  readonly directory: string;
  /** Makes the files what these objects say. */
  write(objects: readonly KubeObject[]): void;
  remove(): void;
}

/** Makes the directory at once, empty; throws what the file system throws. */
export const secretFiles = (temporaryDirectory: string): SecretFiles => {
  // mkdtemp makes it with mode 0700.
  const home = mkdtempSync(join(temporaryDirectory, 'vmcp-'));
  const directory = join(home, 'files');
  return {
    directory,
    write: (objects) => {
      rmSync(directory, { recursive: true, force: true });
      for (const object of objects) {
        const folder = Object.hasOwn(FOLDERS, object.kind) ? FOLDERS[object.kind] : undefined;
        const { name, namespace = 'default' } = object.metadata;
        // No reference can name another one.
        if (folder !== undefined && [name, namespace].every(isLegal))
          writeKeys(join(directory, namespace, folder), object);
      }
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
};

const FOLDERS: Readonly<Record<string, string>> = { Secret: 'secrets', ConfigMap: 'configmaps' };

const writeKeys = (directory: string, object: KubeObject): void => {
  const home = join(directory, object.metadata.name);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  for (const [key, value] of valuesOf(object).filter(([name]) => isLegal(name)))
    writeFileSync(join(home, key), value, { mode: 0o600 });
};

/** Names and keys come from a file of the user: they must not lead out of the directory. */
const isLegal = (name: string): boolean => /^[A-Za-z0-9._-]+$/.test(name) && !/^\.+$/.test(name);

type Values = Readonly<Record<string, unknown>> | undefined;

/** Kubernetes: a Secret's `stringData` wins over its `data`, which is base64 as a ConfigMap's `binaryData` is. */
const valuesOf = (object: KubeObject): readonly (readonly [string, Buffer])[] => {
  const [encoded, plain] =
    object.kind === 'Secret' ? [object['data'], object['stringData']] : [object['binaryData'], object['data']];
  return [
    ...Object.entries((encoded as Values) ?? {}).map(
      ([key, value]) => [key, Buffer.from(String(value), 'base64')] as const,
    ),
    ...Object.entries((plain as Values) ?? {}).map(([key, value]) => [key, Buffer.from(String(value))] as const),
  ];
};

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../object.ts';

/** The Secrets of the directory as the files a pod would see, in a directory that only this user can enter. */
export interface SecretFiles {
  /** Holds `secrets/<secret>/<key>`. */
  readonly directory: string;
  /** Makes the files what these objects say. */
  write(objects: readonly KubeObject[]): void;
  remove(): void;
}

export const secretFiles = (temporaryDirectory: string): SecretFiles => {
  // mkdtemp makes it with mode 0700.
  const directory = mkdtempSync(join(temporaryDirectory, 'vmcp-'));
  return {
    directory,
    write: (objects) => {
      rmSync(join(directory, 'secrets'), { recursive: true, force: true });
      for (const secret of objects.filter(({ kind }) => kind === 'Secret')) writeSecret(directory, secret);
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
};

const writeSecret = (directory: string, secret: KubeObject): void => {
  const home = join(directory, 'secrets', safe(secret.metadata.name));
  mkdirSync(home, { recursive: true, mode: 0o700 });
  for (const [key, value] of valuesOf(secret)) writeFileSync(join(home, safe(key)), value, { mode: 0o600 });
};

/** Names and keys come from a file somebody wrote: they must not lead out of the directory. */
const safe = (name: string): string => {
  if (!/^[A-Za-z0-9._-]+$/.test(name) || /^\.+$/.test(name)) throw new Error(`not a legal name: ${name}`);
  return name;
};

/** Kubernetes: `stringData` wins over `data`, which is base64. */
const valuesOf = (secret: KubeObject): readonly (readonly [string, Buffer])[] => {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  const plain = (secret['stringData'] ?? {}) as Readonly<Record<string, string>>;
  return [
    ...Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
    ...Object.entries(plain).map(([key, value]) => [key, Buffer.from(value)] as const),
  ];
};

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How the image of a Dockerfile at the top of the repository runs Node: the flags of its ENTRYPOINT, and the
 * environment that does not name a place in the image.
 */
export const imageSettings = async (
  dockerfile: string,
): Promise<{ readonly flags: readonly string[]; readonly env: Readonly<Record<string, string>> }> => {
  const text = await readFile(join(import.meta.dirname, '..', '..', dockerfile), 'utf8');
  const [, entrypoint] = /^ENTRYPOINT (.*)$/m.exec(text) ?? [];
  if (entrypoint === undefined) throw new Error(`${dockerfile} has no ENTRYPOINT`);
  const variables = [...text.matchAll(/^ENV (\w+)=([^/\s]+)$/gm)].map(([, name = '', value = '']) => [name, value]);
  return {
    flags: (JSON.parse(entrypoint) as string[]).filter((argument) => argument.startsWith('--')),
    env: Object.fromEntries(variables) as Record<string, string>,
  };
};

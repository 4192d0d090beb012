import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** Replaces what README.md has between the marks of this part. `how` tells how it was measured. */
export const publish = async (
  part:
    | 'auth-server'
    | 'data plane'
    | 'gate'
    | 'hostile'
    | 'one of ten'
    | 'operator'
    | 'optimizer gateway'
    | 'optimizer quality'
    | 'optimizer speed'
    | 'outgoing'
    | 'soak'
    | 'workflows',
  how: string,
  report: string,
): Promise<void> => {
  const path = join(import.meta.dirname, 'README.md');
  const [begin, end] = [`<!-- ${part} -->`, `<!-- end of ${part} -->`];
  const [head, rest] = (await readFile(path, 'utf8')).split(begin);
  const tail = rest?.split(end)[1];
  if (head === undefined || tail === undefined) throw new Error(`${path} has no marks for ${part}`);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}`;
  const stamp = `Measured ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}, ${how}.`;
  await writeFile(path, `${head}${begin}\n${stamp}\n\n${report}\n${end}${tail}`);
};

/**
 * How the image of a Dockerfile at the top of the repository runs Node: the flags of its ENTRYPOINT, and the
 * environment that does not name a place in the image.
 */
export const imageSettings = async (
  dockerfile: string,
): Promise<{ readonly flags: readonly string[]; readonly env: Readonly<Record<string, string>> }> => {
  const text = await readFile(join(import.meta.dirname, '..', dockerfile), 'utf8');
  const [, entrypoint] = /^ENTRYPOINT (.*)$/m.exec(text) ?? [];
  if (entrypoint === undefined) throw new Error(`${dockerfile} has no ENTRYPOINT`);
  const variables = [...text.matchAll(/^ENV (\w+)=([^/\s]+)$/gm)].map(([, name = '', value = '']) => [name, value]);
  return {
    flags: (JSON.parse(entrypoint) as string[]).filter((argument) => argument.startsWith('--')),
    env: Object.fromEntries(variables) as Record<string, string>,
  };
};

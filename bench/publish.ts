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

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * Which test files may run in one process. A process of its own costs a file half a second of processor time, most of
 * it for modules that the next file loads again. Files that start programs or threads, or that look at the process,
 * have one of their own.
 */

/** Files that compute only share a process; those that use sockets, timers and folders, and wait, are dealt to two. */
export type SharedProcess = 'computing' | 'on sockets';

/** What a file that computes only may import, with the test code that it imports. */
const COMPUTING =
  /^(node:(assert\/strict|buffer|crypto|events|fs|fs\/promises|path|stream|stream\/consumers|test|url|util)|ajv\/.+|fast-check|jose|yaml|zod)$/;
const ON_SOCKETS =
  /^(node:(dns|http|https|net|os|timers\/promises|tls)|undici|oidc-provider|@modelcontextprotocol\/.+)$/;

/** What waits, and what starts programs and ends them: it leaves the process as it was. */
const LEAVES_NO_TRACE: ReadonlySet<string> = new Set([
  'test/cluster/command.ts',
  'test/cluster/scratch.ts',
  'test/cluster/until.ts',
]);

/** What belongs to the whole process: its environment and exit code, its globals, and times taken in it. */
const OF_THE_PROCESS =
  /\b(process\.(env|exit|on|once|off|emit|kill|chdir|std|memory|cpu|resource|report)|globalThis\b|performance\.)/;

interface Module {
  readonly path: string;
  readonly text: string;
  /** Packages, and paths of files. */
  readonly imports: readonly string[];
}

const modules = new Map<string, Module>();

const moduleOf = (file: string): Module => {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const statements = text.matchAll(
    /^(?:import|export) (?!type )(?:[\w*{][^'";=(]* from )?'([^']+)'|\bimport\('([^']+)'\)/gm,
  );
  const imports = [...statements].map(([, name = '', atRunTime = '']) => {
    const imported = name || atRunTime;
    return imported.startsWith('.') ? normalize(join(dirname(file), imported)) : imported;
  });
  const found = { path: file, text, imports };
  modules.set(file, found);
  return found;
};

/** The file, and all that it imports and that is ours. */
const reached = (file: string, isFollowed: (path: string) => boolean): readonly Module[] => {
  const paths = new Set([file]);
  // A set that grows while it is walked is walked to its end.
  for (const path of paths) {
    for (const imported of moduleOf(path).imports)
      if (imported.endsWith('.ts') && isFollowed(imported) && existsSync(imported)) paths.add(imported);
  }
  return [...paths].map(moduleOf);
};

const isOurs = (path: string): boolean => path.endsWith('.ts');
const isTestCode = (path: string): boolean => path.startsWith('test/');

/** Of a test file by its path from the root of the repository, which is the working folder. */
export const sharedProcessOf = (file: string): SharedProcess | undefined => {
  const all = reached(file, isTestCode);
  const testCode = all.filter(({ path }) => !LEAVES_NO_TRACE.has(path));
  if (testCode.some(({ text }) => OF_THE_PROCESS.test(text))) return undefined;
  if (reached(file, isOurs).some(({ imports }) => imports.includes('node:worker_threads'))) return undefined;
  const others = testCode.flatMap(({ imports }) => imports).filter((name) => !isOurs(name) && !COMPUTING.test(name));
  if (others.length === 0 && testCode.length === all.length) return 'computing';
  return others.every((name) => ON_SOCKETS.test(name)) ? 'on sockets' : undefined;
};

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * Which test files may share a process. A process of its own costs a file half a second of processor time, most of it
 * for modules that the next file loads again. Files that look at the process, or start threads, have one of their own,
 * and so have those on a control plane, which are long.
 */

/** What such a file may import, with the test code that it imports, beside ours. */
const SHARED =
  /^(node:(assert\/strict|buffer|child_process|crypto|dns|events|fs|fs\/promises|http|https|module|net|os|path|readline|stream|stream\/consumers|test|timers\/promises|tls|url|util)|@ai-sdk\/.+|@modelcontextprotocol\/.+|@smithy\/.+|@tmcp\/.+|ajv\/.+|esbuild|fast-check|jose|mcp-lite|oidc-provider|playwright-core|tmcp|undici|yaml|zod)$/;

/** What waits, and what starts programs and ends them: it leaves the process as it was. */
const LEAVES_NO_TRACE = /^test\/(cluster\/|fixtures\/redis\.ts$)/;

/** What belongs to the whole process: its state beside the environment, its globals, and times taken in it. */
const OF_THE_PROCESS =
  /\b(process\.(exit|on|once|off|emit|kill|chdir|stdin|stdout|memory|cpu|resource|report)|process\.env(\.\w+|\[[^\]]+\])? (\?\?|\|\||&&)?= |globalThis\b|performance\.)/;

const ON_A_CONTROL_PLANE = /\.apiserver\.test\.ts$/;

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

/** The file, and all test code that it imports. */
const reached = (file: string): readonly Module[] => {
  const paths = new Set([file]);
  // A set that grows while it is walked is walked to its end.
  for (const path of paths) {
    for (const imported of moduleOf(path).imports)
      if (isTestCode(imported) && existsSync(imported)) paths.add(imported);
  }
  return [...paths].map(moduleOf);
};

const isOurs = (path: string): boolean => path.endsWith('.ts');
const isTestCode = (path: string): boolean => isOurs(path) && path.startsWith('test/');

/** `file`: its path from the root of the repository, which is the working folder. */
export const sharesProcess = (file: string): boolean => {
  if (ON_A_CONTROL_PLANE.test(file)) return false;
  const testCode = reached(file).filter(({ path }) => !LEAVES_NO_TRACE.test(path));
  return testCode.every(
    ({ text, imports }) => !OF_THE_PROCESS.test(text) && imports.every((name) => isOurs(name) || SHARED.test(name)),
  );
};

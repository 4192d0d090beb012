import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

import { parse } from 'yaml';

/** One file of `broken/`: a manifest, then what is said about it, as comments. */
export interface Broken {
  readonly file: string;
  readonly manifest: { readonly kind: string; readonly [field: string]: unknown };
  readonly said: Readonly<Record<Speaker, string>>;
}

/** Who refuses it; each has a section of the output. */
export type Speaker = 'kubectl apply' | 'vmcp-operator';

const directory = new URL('broken/', import.meta.url);
const speakers: readonly Speaker[] = ['kubectl apply', 'vmcp-operator'];

export const brokenFiles = (): readonly Broken[] =>
  readdirSync(directory)
    .toSorted()
    .map((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8');
      return {
        file,
        manifest: parse(text) as Broken['manifest'],
        said: { 'kubectl apply': sectionOf(text, 'kubectl apply'), 'vmcp-operator': sectionOf(text, 'vmcp-operator') },
      };
    });

/** Replaces what one of them says. */
export const rewrite = ({ file }: Broken, speaker: Speaker, words: string): void => {
  const text = readFileSync(new URL(file, directory), 'utf8');
  const [input = ''] = text.split('# Output\n');
  const sections = speakers.map((each) => [each, each === speaker ? words : sectionOf(text, each)] as const);
  const output = sections.map(([each, lines]) => `# ${each}:\n${commented(lines)}\n`).join('');
  writeFileSync(new URL(file, directory), `${input.trimEnd()}\n# Output\n${output}`);
};

const commented = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => `#   ${line}`.trimEnd())
    .join('\n');

const sectionOf = (text: string, speaker: Speaker): string => {
  const [, after = ''] = text.split(`# ${speaker}:\n`);
  const lines = after.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('#   '));
  return lines
    .slice(0, end)
    .map((line) => line.slice('#   '.length))
    .join('\n');
};

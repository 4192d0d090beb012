import { STACKS, type StackName } from './foreign.ts';
import { type ClientKind, CLIENTS, DIFFERENCES, LIMITS, LOST, type Rule, waysOf } from './matrix.ts';

/** What holds everywhere is told in the text around the table. */
const isSpecial = (rule: Rule): boolean => !EVERYWHERE.has(rule);
const EVERYWHERE: ReadonlySet<Rule> = new Set(
  DIFFERENCES.filter(({ holds }) =>
    CLIENTS.every((client) =>
      STACKS.every((server) => waysOf(client.client, server).every((way) => holds({ ...client, server, way }))),
    ),
  ),
);

interface Note {
  readonly mark: string;
  readonly rule: Rule;
  readonly where: string;
}

const NOTES: readonly Note[] = [
  ...LIMITS.map((rule) => ({ rule, where: 'not without the gateway either' })),
  ...DIFFERENCES.filter(isSpecial).map((rule) => ({ rule, where: 'otherwise through the gateway' })),
  ...LOST.map((rule) => ({ rule, where: 'not through the gateway' })),
].map((note, index) => ({
  ...note,
  mark: index < LIMITS.length ? String(index + 1) : String.fromCodePoint(97 + index - LIMITS.length),
}));

const kindName = ({ client, era, transport }: ClientKind): string =>
  [client, ...(era === 'auto' ? ['2026-07-28 where it can'] : ['up to 2025-11-25']), transport].join(', ');

const marksOf = (client: ClientKind, server: StackName): string => {
  const cells = waysOf(client.client, server).map((way) => ({ ...client, server, way }));
  const marks = NOTES.filter(({ rule }) => cells.some((cell) => rule.holds(cell))).map(({ mark }) => mark);
  return marks.length === 0 ? 'all' : `all but ${marks.join(' ')}`;
};

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Markdown: what each client can do with each server through the gateway, with the notes that the cells name. */
export const matrixTable = (): string =>
  [
    row(['client', ...STACKS]),
    row(['---', ...STACKS.map(() => '---')]),
    ...CLIENTS.map((client) => row([kindName(client), ...STACKS.map((server) => marksOf(client, server))])),
    '',
    ...NOTES.map(({ mark, rule, where }) => `* **${mark}** (${where}): ${rule.what.join(', ')}; ${rule.why}.`),
  ].join('\n');

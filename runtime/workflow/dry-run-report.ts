import { clipped, printable } from '../text.ts';
import type { DryRun, DryStep } from './dry-run.ts';
import type { ShownText } from './dry-run-texts.ts';
import type { WorkflowConfig } from './step.ts';

/** Longest text of a line. */
const MAX_TEXT = 2_000;

/** A dry run, for a terminal. */
export const dryRunReport = (
  { name }: Pick<WorkflowConfig, 'name'>,
  params: Readonly<Record<string, unknown>>,
  { steps, output, failure }: DryRun,
): string => {
  const waves = [...Map.groupBy(steps, ({ wave }) => wave)].toSorted(([a], [b]) => a - b);
  const lines = [
    `${name} ${jsonText(params)}`,
    ...waves.flatMap(([wave, of]) => [`wave ${wave}`, ...of.flatMap(stepLines)]),
    ...(output ? ['output', ...output.map((text) => `  ${textLine(text)}`)] : ['output: what the last step gives']),
    ...(failure
      ? [printable(`fails at ${failure.step === undefined ? 'its output' : `step ${failure.step}`}: ${failure.reason}`)]
      : []),
  ];
  return `${lines.join('\n')}\n`;
};

const stepLines = (step: DryStep): readonly string[] => [
  `  ${[headOf(step), fateOf(step)].filter((part) => part !== '').join('; ')}`,
  ...step.texts.map((text) => `    ${textLine(text)}`),
];

const headOf = ({ id, type, tool = '', waitsFor }: DryStep): string => {
  const work = { tool: `calls ${tool}`, elicitation: 'asks the user', forEach: `calls ${tool} for each item` }[type];
  return printable(`${id}: ${work}${waitsFor.length === 0 ? '' : `, after ${waitsFor.join(', ')}`}`);
};

const fateOf = ({ fate, reason = '' }: DryStep): string => {
  if (fate === 'skipped') return 'is skipped: its condition is false';
  if (fate === 'fails') return printable(`fails: ${reason}`);
  if (fate === 'runs') return '';
  return printable(reason === '' ? 'may be skipped' : `may be skipped; fails if not: ${reason}`);
};

const textLine = (text: ShownText): string => {
  const { label, kind, template } = text;
  const written = template === undefined ? '' : clipped(printable(template), MAX_TEXT);
  if (kind === 'open') return `${printable(label)} = ${written} (needs ${printable(text.needs.join(' and '))})`;
  if (kind === 'failing') return `${printable(label)} = ${written} (fails: ${printable(text.reason)})`;
  const value = jsonText(text.value);
  // A reader of a condition wants to see what is decided by it.
  return `${printable(label)} = ${text.isCondition ? `${written} → ` : ''}${value}`;
};

const jsonText = (value: unknown): string => clipped(printable(JSON.stringify(value)), MAX_TEXT);

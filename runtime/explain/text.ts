import type { Explanation, Step } from './explanation.ts';

/** One line for each step, and one for what to change. */
export const explanationText = ({ allowed, listed, steps }: Explanation): string =>
  [...steps.flatMap(lines), '', `${allowed ? 'allowed' : 'refused'}, ${listed ? 'listed' : 'not listed'}`, ''].join(
    '\n',
  );

const lines = ({ step, outcome, reason, remedy }: Step): readonly string[] => [
  `${SIGN[outcome]} ${step.padEnd(WIDTH)} ${plain(reason)}`,
  ...(remedy === undefined || outcome === 'skipped' ? [] : [`  ${' '.repeat(WIDTH)} → ${plain(remedy)}`]),
];

const SIGN = { ok: '✓', refused: '✗', unknown: '?', skipped: '-' } as const;
const WIDTH = 'identity'.length;

/** Names come from tokens and backends: no control character of theirs reaches a terminal. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{FFFD}');

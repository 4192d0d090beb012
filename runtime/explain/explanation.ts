import * as z from 'zod';

/** `unknown`: only a call would show it. `skipped`: the step does not exist here, or an earlier one has refused. */
const outcomes = ['ok', 'refused', 'unknown', 'skipped'] as const;

const steps = ['identity', 'policies', 'filter', 'conflict', 'backend', 'outgoing', 'limits', 'search'] as const;

const stepSchema = z.looseObject({
  step: z.enum(steps),
  outcome: z.enum(outcomes),
  reason: z.string(),
  remedy: z.string().optional(),
});

/** The body of an answer to `POST /explain`; docs/explain.md "The answer" has the details of each step. */
export const explanationSchema = z.object({
  /** Whether a call would be sent on; what the backend says to it is another matter. */
  allowed: z.boolean(),
  /** Whether lists show the entry to this caller. */
  listed: z.boolean(),
  steps: z.array(stepSchema),
});

export type Explanation = z.infer<typeof explanationSchema>;
export type Step = z.infer<typeof stepSchema>;

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

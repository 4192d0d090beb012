/** What is aimed at, and what was measured. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly measured: number;
  readonly digits: number;
  readonly isMet: boolean;
}

/** As Markdown. */
export const targetTable = (targets: readonly Target[]): string =>
  [
    '| target | wanted | measured | |',
    '|---|---|---|---|',
    ...targets.map(
      ({ what, wanted, measured, digits, isMet }) =>
        `| ${what} | ${wanted} | ${measured.toFixed(digits)} | ${isMet ? 'met' : '**not met**'} |`,
    ),
  ].join('\n');

export const atLeast = (what: string, wanted: number, measured: number): Target => ({
  what,
  wanted: `≥ ${wanted}`,
  measured,
  digits: 2,
  isMet: measured >= wanted,
});

export const atMost = (what: string, wanted: number, measured: number, digits = 2): Target => ({
  what,
  wanted: `≤ ${wanted}`,
  measured,
  digits,
  isMet: measured <= wanted,
});

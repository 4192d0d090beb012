import type { ListEntry } from '../catalog/index.ts';

/** docs/optimizer.md "Token figures" */
export interface TokenFigures {
  readonly baseline_tokens: number;
  readonly returned_tokens: number;
  readonly savings_percent: number;
}

/** A rule of thumb for JSON in English: models differ, and none of them is asked. */
const BYTES_PER_TOKEN = 4;

/** Bytes of all definitions of a list, summed once. */
const known = new WeakMap<readonly ListEntry[], number>();

const bytesOf = (entries: readonly ListEntry[]): number => {
  const before = known.get(entries);
  if (before !== undefined) return before;
  const bytes = entries.reduce((sum, { bytes: { length }, isAlone }) => sum + (isAlone ? 0 : length), 0);
  known.set(entries, bytes);
  return bytes;
};

/**
 * What the definitions in an answer take, compared with all that this caller would be listed: from their JSON text, the
 * two tools of the optimizer counted as well, since a client has them in any case. Negative where it is more.
 */
export const tokenFigures = (
  offered: readonly ListEntry[],
  returned: readonly ListEntry[],
  optimizerBytes: number,
): TokenFigures => {
  const all = bytesOf(offered);
  const found = returned.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const saved = all === 0 ? 0 : (100 * (all - found - optimizerBytes)) / all;
  return {
    baseline_tokens: tokensOf(all),
    returned_tokens: tokensOf(found),
    savings_percent: Math.round(saved * 10) / 10,
  };
};

/** Tokens that so many bytes of JSON text are taken for. */
export const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

import { SECRET_SPREAD_MS } from './sealing-keys.ts';

/** A secret, and since when this replica has it. */
export interface KnownSecret {
  readonly secret: Buffer;
  readonly sinceMs: number;
}

/**
 * The secrets with the time since when they are known, by those that were known before. The first ones of a process
 * count as known for ever: it cannot tell which of them is new.
 */
export const knownSecrets = (
  secrets: readonly Buffer[],
  before: readonly KnownSecret[] | undefined,
  nowMs: number,
): readonly KnownSecret[] =>
  secrets.map(
    (secret) => before?.find((each) => each.secret.equals(secret)) ?? { secret, sinceMs: before ? nowMs : -Infinity },
  );

/**
 * The secrets, with one first that other replicas have, too: the first in the list for which the time is over in which
 * a mounted Secret reaches all of them. Where there is none, the order stays.
 */
export const spreadFirst = (known: readonly KnownSecret[], nowMs: number): readonly Buffer[] => {
  const spread = known.find(({ sinceMs }) => nowMs - sinceMs >= SECRET_SPREAD_MS) ?? known[0];
  const others = known.filter((each) => each !== spread);
  return (spread ? [spread, ...others] : others).map(({ secret }) => secret);
};

import type { Ended } from './ended.ts';

/** What was issued to a user until then has ended. */
export interface Revocation {
  /** Digest of the user. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** What a replica tells of a revocation. */
export interface EndedHere {
  readonly revocation: string;
  readonly ended: Ended;
}

/** A revocation as one text, which names it among others. */
export const textOf = ({ name, atMs }: Revocation): string => `${name} ${atMs}`;

export const readRevocation = (message: Buffer): Revocation | undefined => {
  const [, name, atMs] = /^([A-Za-z0-9_-]{43}) (\d{1,16})$/.exec(message.toString()) ?? [];
  return name === undefined ? undefined : { name, atMs: Number(atMs) };
};

export const reportOf = ({ revocation, ended: { sessions, streams, calls } }: EndedHere): Buffer =>
  Buffer.from(`${revocation} ${sessions} ${streams} ${calls}`);

export const readReport = (message: Buffer): EndedHere | undefined => {
  const [, revocation, ...counts] =
    /^([A-Za-z0-9_-]{43} \d{1,16}) (\d{1,9}) (\d{1,9}) (\d{1,9})$/.exec(message.toString()) ?? [];
  const [sessions = 0, streams = 0, calls = 0] = counts.map(Number);
  return revocation === undefined ? undefined : { revocation, ended: { sessions, streams, calls } };
};

import { readObject, skipSpace, skipValue, type Span } from './json-bytes.ts';

/** One member of an object. */
export interface Member {
  /** Decoded. */
  readonly key: string;
  /** Where the key begins. */
  readonly start: number;
  readonly value: Span;
}

/** The members of the object at `at`, in order. */
export const membersOf = (bytes: Buffer, at: number): readonly Member[] => {
  const members: Member[] = [];
  readObject(bytes, at, (key, valueAt, start) => {
    const end = skipValue(bytes, valueAt);
    members.push({ key, start, value: { start: valueAt, end } });
    return end;
  });
  return members;
};

/** The value of a member of the object at `at`; the last one, where a key is given twice. */
export const memberAt = (bytes: Buffer, at: number, name: string): Span | undefined =>
  membersOf(bytes, at).findLast(({ key }) => key === name)?.value;

/** The object that `bytes` are, with members (JSON text each) before its own, which stay as they are written. */
export const withMembers = (bytes: Buffer, added: readonly string[]): Buffer => {
  if (added.length === 0) return bytes;
  const isEmpty = membersOf(bytes, 0).length === 0;
  return Buffer.concat([Buffer.from(`{${added.join(',')}${isEmpty ? '' : ','}`), bytes.subarray(1)]);
};

/** The object that `bytes` are, without some members; the others, and the white space around them, stay as they are written. */
export const withoutMembers = (bytes: Buffer, isDropped: (key: string) => boolean): Buffer => {
  const members = membersOf(bytes, 0);
  const kept = members.flatMap((member, index) => (isDropped(member.key) ? [] : [{ ...member, index }]));
  const last = members.at(-1);
  if (kept.length === members.length || !last) return bytes;
  const pieces: Buffer[] = [bytes.subarray(0, members[0]?.start)];
  for (const [place, { start, value, index }] of kept.entries()) {
    pieces.push(bytes.subarray(start, value.end));
    if (place + 1 < kept.length) pieces.push(bytes.subarray(value.end, members[index + 1]?.start));
  }
  return Buffer.concat([...pieces, bytes.subarray(last.value.end)]);
};

/** The value of one member replaced, where it is there. */
export const replacedMember = (bytes: Buffer, name: string, replace: (value: Buffer) => Buffer): Buffer => {
  const value = memberAt(bytes, skipSpace(bytes, 0), name);
  if (!value) return bytes;
  const text = replace(bytes.subarray(value.start, value.end));
  return Buffer.concat([bytes.subarray(0, value.start), text, bytes.subarray(value.end)]);
};

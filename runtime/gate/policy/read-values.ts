import { argumentsOf, type RelayedRequest } from '../../call/index.ts';
import { isObject, readString, skipValue, walkObject } from '../../json/index.ts';
import type { Reads } from './argument-uses.ts';
import { ARGUMENT, CLAIM } from './environment.ts';
import { foldCase, keyOf, representBytes, representClaim, UnrepresentableError } from './represent.ts';
import type { Represented, Unrepresentable } from './values.ts';

/** Claims or arguments that policies read, by names with prefix: values, and those that have no form in Cedar. */
export interface ReadValues {
  readonly known: ReadonlyMap<string, Represented>;
  readonly failed: ReadonlyMap<string, Unrepresentable>;
}

export const NOTHING_READ: ReadValues = { known: new Map(), failed: new Map() };

/** Text by which equal values are recognized. Each part says how long it is, so that no two are taken for one. */
export const keyOfValues = ({ known, failed }: ReadValues): string => {
  let key = '';
  for (const [name, { json }] of known) {
    const isText = typeof json === 'string';
    const text = isText ? json : keyOf(json);
    key += `${isText ? 't' : 'j'}${name.length} ${text.length} ${name}${text}`;
  }
  for (const name of failed.keys()) key += `f${name.length} ${name}`;
  return key;
};

class Reading {
  readonly known = new Map<string, Represented>();
  #failed: Map<string, Unrepresentable> | undefined;

  get failed(): ReadValues['failed'] {
    return this.#failed ?? NOTHING_READ.failed;
  }

  note(name: string, read: () => Represented | undefined): void {
    try {
      const value = read();
      if (value) this.known.set(name, value);
    } catch (error) {
      if (!(error instanceof UnrepresentableError)) throw error;
      this.fail(name, error.why);
    }
  }

  fail(name: string, why: Unrepresentable): void {
    (this.#failed ??= new Map()).set(name, why);
  }
}

/** Of a token only the claims that some policy reads. */
export const readClaims = (claims: Readonly<Record<string, unknown>>, reads: Reads): ReadValues => {
  const reading = new Reading();
  const names = reads.wholeContext ? Object.keys(claims) : [...reads.claims].map((name) => name.slice(CLAIM.length));
  for (const name of names)
    if (Object.hasOwn(claims, name)) reading.note(CLAIM + name, () => representClaim(claims[name]));
  return reading;
};

/** The name under which nothing but the arguments as a whole is noted. */
export const ALL_ARGUMENTS = ARGUMENT;

/**
 * Of a request only the arguments that some policy reads, from its bytes. An argument that is there twice, or once more
 * in another letter case, has no value: nobody knows which one the backend reads.
 */
export const readArguments = (request: RelayedRequest | undefined, reads: Reads): ReadValues => {
  const text = request && argumentsOf(request);
  if (text === undefined || (reads.args.size === 0 && !reads.wholeContext)) return NOTHING_READ;
  const reading = new Reading();
  if (!isObject(text, 0)) {
    if (text.toString('latin1') !== 'null') reading.fail(ALL_ARGUMENTS, 'no object');
    return reading;
  }
  const wanted = wantedNames(reads);
  const seen = new Set<string>();
  walkObject(text, 0, (keyAt, keyEnd, valueAt) => {
    if (!reads.wholeContext && keyEnd - keyAt > wanted.mostBytes) return skipValue(text, valueAt);
    const key = readString(text, { start: keyAt, end: keyEnd });
    const folded = foldCase(key);
    const exact = reads.wholeContext ? key : wanted.byFolded.get(folded);
    if (exact === undefined) return skipValue(text, valueAt);
    if (seen.has(folded) || exact !== key) reading.fail(ARGUMENT + exact, 'twice');
    else reading.note(ARGUMENT + exact, () => representBytes(text, valueAt));
    seen.add(folded);
    return skipValue(text, valueAt);
  });
  return reading;
};

interface WantedNames {
  readonly byFolded: ReadonlyMap<string, string>;
  /** Longest JSON text of a name: each character may be written as an escape of six. */
  readonly mostBytes: number;
}

const known = new WeakMap<Reads, WantedNames>();

const wantedNames = (reads: Reads): WantedNames => {
  const before = known.get(reads);
  if (before) return before;
  const names = [...reads.args.keys()].map((name) => name.slice(ARGUMENT.length));
  const byFolded = new Map(names.map((name) => [foldCase(name), name]));
  const made = { byFolded, mostBytes: 2 + 6 * Math.max(0, ...names.map(({ length }) => length)) };
  known.set(reads, made);
  return made;
};

/** Whether policies that read this can decide. */
export const canRead = ({ wholeContext, claims, args }: Reads, values: readonly ReadValues[]): boolean =>
  values.every(
    ({ failed }) =>
      failed.size === 0 ||
      (!wholeContext &&
        ![...failed.keys()].some(
          (name) => claims.has(name) || args.has(name) || (name === ALL_ARGUMENTS && args.size > 0),
        )),
  );

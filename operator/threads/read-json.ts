import { TooCostlyError, type WorkThread } from './work-thread.ts';

/**
 * Parses JSON from the API server; rejects with a `SyntaxError` where it is none. An object that is too large to work
 * on may come without its spec (`unreadable`).
 */
export type ReadJson = (json: string | Uint8Array, reading?: Reading) => Promise<unknown>;

/** For which namespace a text is read, and how long it is needed. */
export interface Reading {
  /** Namespace whose turn it takes. Default: of a review the one that it is about, of anything else none. */
  readonly tenant?: string;
  /** Aborted when the value is not needed any more. */
  readonly signal?: AbortSignal;
}

/** In this thread. */
// eslint-disable-next-line typescript/require-await -- what is no JSON rejects
export const readHere: ReadJson = async (json) => JSON.parse(textOf(json)) as unknown;

/** Characters that are read within a few milliseconds: what has many keys takes a quarter of a second for a million. */
const LARGE = 128 * 1024;

/** What is large in another thread. */
export const readIn =
  (thread: Pick<WorkThread, 'run'>): ReadJson =>
  (json, { tenant, signal } = {}) =>
    json.length > LARGE ? thread.run('json', json, tenant ?? namespaceIn(json), signal) : readHere(json);

/** The text of UTF-8 bytes. */
export const textOf = (json: string | Uint8Array): string =>
  typeof json === 'string' ? json : Buffer.from(json.buffer, json.byteOffset, json.length).toString();

/**
 * Whose turn it takes. Only a review says that before anything that its author has written; watches are read one event
 * at a time each.
 */
const namespaceIn = (json: string | Uint8Array): string =>
  typeof json === 'string' ? '' : (/"namespace":"([^"]{1,63})"/.exec(textOf(json.subarray(0, START)))?.[1] ?? '');

const START = 4_096;

/**
 * Characters that one object can have: what etcd takes for 1.5 MB is a few times as long as JSON. Longer are only pages
 * of a list, which can be asked for smaller.
 */
const MAX_OBJECT_CHARACTERS = 16 * 1024 * 1024;

/**
 * Parses with `patient` what `limited` has found too costly, if it is an object or an event of the API server: a watch
 * cannot go on before that is parsed, and a new list would hold the same object. Reviews, which come as bytes, have to
 * be answered in time or not at all.
 */
export const readWithFallback =
  (limited: ReadJson, patient: ReadJson): ReadJson =>
  async (...reading) => {
    try {
      return await limited(...reading);
    } catch (error) {
      const [json] = reading;
      if (!(error instanceof TooCostlyError) || typeof json !== 'string' || json.length > MAX_OBJECT_CHARACTERS)
        throw error;
      return patient(...reading);
    }
  };

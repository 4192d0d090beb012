import { heldAlone } from '../engine/held-alone.ts';
import { isOfOurGroup } from '../engine/trim.ts';
import type { KubeObject } from '../object.ts';
import { unreadable, withoutSpec } from '../validate/index.ts';
import type { WorkThread } from './work-thread.ts';

/** Reads JSON from the API server; rejects where it is none. What nobody can work on may come without its spec (`unreadable`). Bytes are the reader's from then on. */
export type ReadJson = (json: string | Uint8Array) => Promise<unknown>;

/** In this thread. */
// eslint-disable-next-line typescript/require-await -- what is no JSON rejects
export const readHere: ReadJson = async (json) => JSON.parse(textOf(json)) as unknown;

/** Characters that are read within a few milliseconds: what has many keys takes a quarter of a second for a million. */
const LARGE = 128 * 1024;

/** What is large in another thread. */
export const readIn =
  (thread: Pick<WorkThread, 'run'>): ReadJson =>
  (json) =>
    json.length > LARGE ? thread.run('json', json, namespaceIn(json)) : readHere(json);

const textOf = (json: string | Uint8Array): string =>
  typeof json === 'string' ? json : Buffer.from(json.buffer, json.byteOffset, json.length).toString();

/** Whose turn it takes. Only a review says that before anything that its author has written; watches are read one event at a time each. */
const namespaceIn = (json: string | Uint8Array): string =>
  typeof json === 'string' ? '' : (/"namespace":"([^"]{1,63})"/.exec(textOf(json.subarray(0, START)))?.[1] ?? '');

const START = 4_096;

/** The task: the value. Of events and lists only what the cache holds of an object comes, of one alone and of a review all but a spec that is not looked at. */
export const valueOf = (json: string | Uint8Array): unknown => {
  const value = JSON.parse(textOf(json)) as Enclosing | null;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const { kind, object, request, items } = value;
  return {
    ...lean(value),
    ...(isObject(object) && { object: heldAlone(object) }),
    ...(Array.isArray(items) && { items: items.map((item) => heldOfList(item, kind)) }),
    ...(typeof request === 'object' && request !== null && { request: leanRequest(request) }),
  };
};

/** An object, a list, the event of a watch or an AdmissionReview. */
interface Enclosing extends KubeObject {
  readonly object?: unknown;
  readonly items?: unknown;
  readonly request?: Readonly<Record<string, unknown>> | null;
}

/** Items of the API server's own kinds do not say what they are, but the list does. */
const heldOfList = (item: unknown, listKind: unknown): unknown => {
  const kind = typeof listKind === 'string' ? listKind.replace(/List$/, '') : '';
  return isObject(item) ? heldAlone({ ...item, kind: item.kind ?? kind }) : item;
};

const leanRequest = (request: Readonly<Record<string, unknown>>): object => ({
  ...request,
  ...Object.fromEntries(
    ['object', 'oldObject'].flatMap((name) => {
      const object = request[name];
      return isObject(object) ? [[name, lean(object)]] : [];
    }),
  ),
});

const isObject = (value: unknown): value is KubeObject => {
  const { metadata } = (value ?? {}) as { readonly metadata?: unknown };
  return typeof metadata === 'object' && metadata !== null;
};

const lean = (object: KubeObject): KubeObject => {
  const why = isOfOurGroup(object) && isObject(object) ? unreadable(object) : undefined;
  return why === undefined ? object : withoutSpec(object, why);
};

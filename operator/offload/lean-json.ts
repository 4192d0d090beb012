import { cacheable, isOfOurGroup } from '../cache/trim.ts';
import type { KubeObject } from '../object.ts';
import { textOf } from '../threads/read-json.ts';
import { unreadable, withoutSpec } from '../validate/index.ts';

/**
 * The task: the value. Of events and lists only what the cache holds of an object comes, of one alone and of a review
 * all but a spec that is not looked at.
 */
export const valueOf = (json: string | Uint8Array): unknown => {
  const value = JSON.parse(textOf(json)) as Enclosing | null;
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const { kind, object, request, items } = value;
  return {
    ...lean(value),
    ...(isObject(object) && { object: cacheable(object) }),
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
  return isObject(item) ? cacheable({ ...item, kind: item.kind ?? kind }) : item;
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

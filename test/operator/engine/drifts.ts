import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { objectPath, resourceOf, resourceTable } from '../../../operator/api/resources.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import type { ApiAccess } from '../../cluster/index.ts';
import { type OwnedField, fieldIn, otherValues, ownedFields, ownedValues } from './owned-fields.ts';

/** A change by hand of one field that we own. */
export interface Drift {
  readonly kind: string;
  readonly field: OwnedField;
  readonly does: 'changes' | 'removes';
}

/** `Service changes spec.type` */
export const driftText = ({ kind, field, does }: Drift): string =>
  `${kind} ${does} ${field.steps
    .map((step) => (step.startsWith('f:') ? `.${step.slice(2)}` : `[${step.slice(2).replaceAll(/[{}"]/g, '')}]`))
    .join('')
    .slice(1)}`;

/**
 * Every change of every field that we own in this object. Without its owner reference it would not be ours any more
 * (docs/decisions.md "Ownership").
 */
export const driftsOf = (object: KubeObject): readonly Drift[] =>
  ownedFields(object).flatMap((field) =>
    (['changes', 'removes'] as const)
      .filter((does) => (does === 'removes' ? !isOwnership(field) : field.isLeaf && !field.isKey))
      .map((does) => ({ kind: object.kind, field, does })),
  );

const isOwnership = ({ steps }: OwnedField): boolean => steps[1] === 'f:ownerReferences';

/** What the server made of the drift: it took it, did not take it, or it came to the same. */
export interface Drifted {
  readonly outcome: 'drifted' | 'refused' | 'same';
  readonly before: KubeObject;
}

export interface Hand {
  readonly get: (object: KubeObject) => Promise<KubeObject>;
  /** Merges this into it. */
  readonly merge: (object: KubeObject, change: object) => Promise<KubeObject>;
  /** Changes this object by hand. */
  readonly drift: (object: KubeObject, drift: Drift) => Promise<Drifted>;
  readonly close: () => Promise<void>;
}

/** Who edits objects with all rights. */
export const handIn = async ({ url, caFile, adminToken }: ApiAccess): Promise<Hand> => {
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile) }, connections: 8 });
  const send = async (object: KubeObject, change?: object): Promise<KubeObject | undefined> => {
    const type = Array.isArray(change) ? 'json-patch' : 'merge-patch';
    const response = await request(new URL(pathOf(object), url), {
      dispatcher,
      method: change === undefined ? 'GET' : 'PATCH',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': `application/${type}+json` },
      body: change === undefined ? null : JSON.stringify(change),
    });
    const answer = (await response.body.json()) as KubeObject;
    return response.statusCode < 300 ? answer : undefined;
  };
  const taken = async (object: KubeObject, change?: object): Promise<KubeObject> => {
    const answer = await send(object, change);
    if (answer === undefined) throw new Error(`${object.kind} ${object.metadata.name} is not as it should be`);
    return answer;
  };
  const get: Hand['get'] = (object) => taken(object);
  return {
    get,
    merge: taken,
    drift: async (object, drift) => {
      const before = await get(object);
      const place = fieldIn(before, drift.field);
      if (place === undefined) return { outcome: 'same', before };
      const { pointer: path, value } = place;
      const others = drift.does === 'removes' ? [undefined] : otherValues(value, drift.field);
      let isTaken = false;
      for (const other of others) {
        const operation = other === undefined ? { op: 'remove', path } : { op: 'replace', path, value: other };
        const after = await send(before, [operation]);
        if (after !== undefined && holdsOther(before, after, drift.field)) return { outcome: 'drifted', before };
        isTaken ||= after !== undefined;
      }
      return { outcome: isTaken || others.length === 0 ? 'same' : 'refused', before };
    },
    close: () => dispatcher.close(),
  };
};

/** What is removed may come back as a default, and a word in another form may be the same. */
const holdsOther = (before: KubeObject, after: KubeObject, field: OwnedField): boolean =>
  JSON.stringify(fieldIn(before, field)?.value) !== JSON.stringify(fieldIn(after, field)?.value);

/** Does it hold again what we own in it? Undefined, or what it holds in place of it. */
export const unrepaired = (before: KubeObject, after: KubeObject): string | undefined => {
  const [wanted, held] = [ownedValues(before), ownedValues(after)];
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(held)])];
  const differing = keys.filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(held[key]));
  return differing.length === 0
    ? undefined
    : differing.map((key) => `${key}: ${JSON.stringify(wanted[key])} → ${JSON.stringify(held[key])}`).join('; ');
};

/** Of all that are there in the namespace `default`. */
export const objectsIn = async ({ list }: ApiAccess, kinds: string): Promise<readonly KubeObject[]> =>
  (await list(kinds, { hasManagedFields: true })) as readonly KubeObject[];

const table = resourceTable([]);

/** As paths and the audit log call its kind. */
export const pluralOf = ({ kind }: KubeObject): string => resourceOf(table, kind).plural;

const pathOf = (object: KubeObject): string => objectPath(resourceOf(table, object.kind), keyOf(object));

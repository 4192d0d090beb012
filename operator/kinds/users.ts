import { kinds, referredKinds } from '../../crds/index.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { Source } from '../read/source.ts';
import type { Referrers } from './referrers.ts';

/** Every kind whose schema lets it name objects of `kind`, in alphabetical order. */
export const kindsNaming = (kind: string): readonly string[] =>
  Object.keys(kinds).filter((each) => referredKinds(each).includes(kind));

/** Every object that names this one and is not on its way out: by kind, then name. */
export const usersOf = (source: Source, { kind, namespace, name }: ObjectKey, referrersOf: Referrers) =>
  kindsNaming(kind)
    .flatMap((user): readonly KubeObject[] => referrersOf(source.list(user, namespace), { kind, name }))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);

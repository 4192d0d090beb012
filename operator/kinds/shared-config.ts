import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import type { Contract } from '../plan/contract.ts';
import type { Plan } from '../plan/plan.ts';
import type { SharedConfigBundle } from '../plan/shared-config.ts';
import { resolveReferences } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { ReconciledKind } from './kind.ts';
import {
  type Referrers,
  type Targets,
  kindsNaming,
  namingOf,
  referrers,
  memoizedTargets,
  usersOf,
} from './referrers.ts';

/** What one kind of shared configuration differs in. */
export interface SharedConfigKind {
  readonly kind: string;
  readonly plan: (bundle: SharedConfigBundle, contract: Contract) => Plan;
}

/** Configuration that others name: checked here, with a list of who does; it takes effect in those. */
export const sharedConfig = (
  { kind, plan }: SharedConfigKind,
  contract: Contract,
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<SharedConfigBundle> => {
  const referrersOf = referrers(targetsOf);
  const users = kindsNaming(kind);
  const { named, affectedBy } = namingOf(kind, targetsOf);
  return {
    kind,
    owns: [],
    reads: [...new Set([...users, ...named])],
    resolve: (source, key) => resolve(source, key, referrersOf),
    plan: (bundle) => plan(bundle, contract),
    affectedBy: (source, changed) => [
      ...(users.includes(changed.kind) ? namedBy(changed, kind, targetsOf) : []),
      ...affectedBy(source, changed),
    ],
  };
};

const resolve = (source: Source, key: ObjectKey, referrersOf: Referrers): SharedConfigBundle | undefined => {
  const config = source.get(key.kind, key.namespace, key.name);
  if (config === undefined || config.metadata.deletionTimestamp !== undefined) return undefined;
  const users = usersOf(source, key, referrersOf).map(keyOf);
  return Object.freeze({ config, references: resolveReferences(source, config), users });
};

/** The objects of a kind that this one names. */
const namedBy = (user: KubeObject, kind: string, targetsOf: Targets): readonly ObjectKey[] => {
  const { namespace } = keyOf(user);
  const names = targetsOf(user).flatMap((each) => (each.kind === kind ? [each.name] : []));
  return [...new Set(names)].map((name) => ({ kind, namespace, name }));
};

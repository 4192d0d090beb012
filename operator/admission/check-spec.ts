import { isDeepStrictEqual } from 'node:util';
import { kinds, unsupported } from '../../crds/index.ts';
import { type KubeObject, keyOf } from '../object.ts';
import {
  type ResolvedReference,
  howToMend,
  lookUpIn,
  lookedUpReferences,
  resolved,
  unresolved,
} from '../plan/references.ts';
import { resolveReferences } from '../resolve.ts';
import { deprecatedTelemetry, literalHeaderValues, violationText, violationsOf } from '../validate/index.ts';
import { type Cluster, isOurs, isOnItsWayOut } from './cluster.ts';
import { type Review, type Verdict, accepted, invalid } from './review.ts';

/**
 * May an object of ours be created, or get this spec? What has broken a rule all along is let through when something else of
 * it changes: labels and finalizers must not get stuck on it, and a condition tells of it already.
 */
export const checkSpec = async ({ object, oldObject }: Review, cluster: Cluster): Promise<Verdict> => {
  if (object === undefined || !isOurs(object) || isOnItsWayOut(object)) return accepted;
  if (oldObject !== undefined && isDeepStrictEqual(object['spec'], oldObject['spec'])) return accepted;
  const references = resolveReferences(cluster.source, object);
  const violations = violationsOf(object, lookUpIn(references));
  if (violations.length === 0) return { warnings: warningsAbout(object, oldObject, references) };
  const alone = violationsOf(object, () => undefined);
  const certain =
    alone.length === violations.length
      ? violations
      : violationsOf(object, lookUpIn(await referencesNow(object, cluster)));
  return certain.length === 0 ? accepted : { refusal: invalid(object, certain), warnings: [] };
};

/**
 * What the object names, as it is stored at this moment: a watch is a moment late, and both may be mended by one
 * `kubectl apply`.
 */
const referencesNow = (object: KubeObject, { get }: Cluster): Promise<readonly ResolvedReference[]> => {
  const { namespace } = keyOf(object);
  const ours = lookedUpReferences(object).filter(({ kind }) => Object.hasOwn(kinds, kind));
  return Promise.all(
    ours.map(async (each) => resolved(each, await get({ kind: each.kind, namespace, name: each.name }))),
  );
};

/** What is accepted and has no effect, or not the one that was meant; conditions tell the same. */
const warningsAbout = (
  object: KubeObject,
  oldObject: KubeObject | undefined,
  references: readonly ResolvedReference[],
): readonly string[] => {
  const open = unresolved(references).filter(
    ({ invalid: why, kind, name }) => why !== undefined || isNewlyNamed(kind, name, oldObject),
  );
  const { kind, spec } = object;
  const told = [
    ...unsupported(kind, { spec }),
    ...deprecatedTelemetry(object),
    ...(kind === 'VirtualMCPServer' ? literalHeaderValues(spec ?? {}) : []),
  ];
  return [...told.map(violationText), ...new Set(open.map((each) => howToMend(each)))].slice(0, MOST_WARNINGS);
};

/** Of a new object nothing needs to be there yet: what is applied together comes in any order. */
const isNewlyNamed = (kind: string, name: string, oldObject: KubeObject | undefined): boolean =>
  oldObject !== undefined &&
  !lookedUpReferences(oldObject).some((before) => before.kind === kind && before.name === name);

/** The API server passes on 4,096 characters in all. */
const MOST_WARNINGS = 10;

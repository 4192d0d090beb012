import { isDeepStrictEqual } from 'node:util';
import { type Reference, unsupported } from '../../crds/index.ts';
import { type KubeObject, keyOf } from '../object.ts';
import {
  type ResolvedReference,
  howToMend,
  lookedUpReferences,
  resolved,
  sourceKind,
  unresolved,
} from '../plan/references.ts';
import { resolveReferences } from '../read/resolve.ts';
import {
  deprecatedTelemetry,
  ignoredGuards,
  literalHeaderValues,
  policyCharacters,
  questionablePolicies,
  unreadable,
  violationText,
  withoutSuperseded,
} from '../validate/index.ts';
import { type Cluster, isOurs, isOnItsWayOut } from './cluster.ts';
import { type Review, type Verdict, accepted, invalid } from './review.ts';
import { storedNow } from './stored-now.ts';

/**
 * May an object of ours be created, or get this spec? What has broken a rule all along is let through when something
 * else of it changes: labels and finalizers must not get stuck on it, and a condition tells of it already.
 */
export const checkSpec = async ({ object, oldObject }: Review, cluster: Cluster): Promise<Verdict> => {
  if (object === undefined || !isOurs(object) || isOnItsWayOut(object)) return accepted;
  const why = unreadable(object);
  if (why !== undefined) {
    const wasAlready = oldObject !== undefined && unreadable(oldObject) !== undefined;
    return wasAlready ? accepted : { refusal: invalid(object, [why]), warnings: [] };
  }
  if (
    oldObject !== undefined &&
    unreadable(oldObject) === undefined &&
    isDeepStrictEqual(object['spec'], oldObject['spec'])
  )
    return accepted;
  await cluster.source.settled?.(object.metadata.namespace ?? '');
  const references = resolveReferences(cluster.source, object);
  const { violations, askedFor } = await cluster.judge(object, references);
  if (violations.length === 0) return { warnings: warningsAbout(object, oldObject, references) };
  const isCertain = askedFor.length === 0 || (await cluster.judge(object, [])).violations.length === violations.length;
  if (isCertain) return { refusal: invalid(object, violations), warnings: [] };
  const now = await cluster.judge(object, await referencesNow(object, askedFor, cluster));
  return now.violations.length === 0 ? accepted : { refusal: invalid(object, now.violations), warnings: [] };
};

/**
 * Of what the object names that which a rule asked for, as it is stored at this moment: a watch is a moment late, and
 * both may be mended by one `kubectl apply`.
 */
const referencesNow = async (
  object: KubeObject,
  askedFor: readonly string[],
  cluster: Cluster,
): Promise<readonly ResolvedReference[]> => {
  const { namespace } = keyOf(object);
  const named = new Map(lookedUpReferences(object).map((each) => [textOf(each), each]));
  const now: ResolvedReference[] = [];
  for (const each of askedFor.flatMap((asked) => named.get(asked) ?? [])) {
    const { kind, name } = each;
    const known = cluster.source.get(sourceKind(kind), namespace, name);
    const target = await storedNow({ kind, namespace, name }, known, cluster);
    const [broken] = target === undefined ? [] : (await cluster.judge(target, [])).violations;
    now.push(resolved(each, target, broken));
  }
  return now;
};

/** What is accepted and has no effect, or not the one that was meant; conditions tell the same. */
const warningsAbout = (
  object: KubeObject,
  oldObject: KubeObject | undefined,
  references: readonly ResolvedReference[],
): readonly string[] => {
  const before = oldObject && new Set(lookedUpReferences(oldObject).map(textOf));
  // Of a new object nothing needs to be there yet: what is applied together comes in any order.
  const isNewlyNamed = (reference: Reference): boolean => before?.has(textOf(reference)) === false;
  const open = unresolved(references).filter((each) => each.invalid !== undefined || isNewlyNamed(each));
  const { kind, spec } = object;
  const told = [
    ...unsupported(kind, { spec: withoutSuperseded(spec ?? {}) }),
    ...deprecatedTelemetry(object),
    ...(policyCharacters(object) <= MOST_DOUBTED ? questionablePolicies(object) : []),
    ...(kind === 'VirtualMCPServer' ? [...literalHeaderValues(spec ?? {}), ...ignoredGuards(spec ?? {})] : []),
  ];
  return [...told.map(violationText), ...new Set(open.map(wordsFor))].slice(0, MOST_WARNINGS);
};

/** What is wrong with another object tells its condition to those who may read it. */
const wordsFor = (open: ResolvedReference): string =>
  open.invalid === undefined
    ? howToMend(open)
    : `${open.kind} ${open.name} cannot be used; its condition Valid says why`;

const textOf = ({ kind, name }: Reference): string => `${kind}/${name}`;

/** Characters of policies that are looked at for doubts in this thread; `vmcp validate` looks at any. */
const MOST_DOUBTED = 4_000;

/** The API server passes on 4,096 characters in all. */
const MOST_WARNINGS = 10;

import { isDeepStrictEqual } from 'node:util';
import { type Reference, unsupported } from '../../crds/index.ts';
import { type KubeObject, keyOf } from '../object.ts';
import {
  type ResolvedReference,
  lookedUpReferences,
  resolved,
  sourceKind,
  unresolved,
  unresolvedText,
} from '../plan/references.ts';
import { resolveReferences } from '../read/resolve.ts';
import {
  deprecatedTelemetry,
  ignoredGuards,
  literalHeaderValues,
  movedIssuer,
  unreadable,
  violationText,
  withoutSuperseded,
} from '../validate/index.ts';
import { type AdmissionContext, getLive, isOurs, isTerminating } from './context.ts';
import { type Review, type Verdict, accepted, invalid } from './review.ts';

/**
 * Refuses an object of our kinds, or a new spec of one, that breaks a rule. An object that broke the rule before is
 * admitted while its spec stays the same: labels and finalizers must remain editable, and a condition reports the
 * problem already.
 */
export const checkSpec = async ({ object, oldObject }: Review, cluster: AdmissionContext): Promise<Verdict> => {
  if (object === undefined || !isOurs(object) || isTerminating(object)) return accepted;
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
  const { violations, askedFor, questionable } = await cluster.validate(object, references);
  if (violations.length === 0)
    return {
      warnings: [...warningsAbout(object, oldObject, references), ...questionable.map(violationText)].slice(
        0,
        MAX_WARNINGS,
      ),
    };
  const isCertain =
    askedFor.length === 0 || (await cluster.validate(object, [])).violations.length === violations.length;
  if (isCertain) return { refusal: invalid(object, violations), warnings: [] };
  const now = await cluster.validate(object, await liveReferences(object, askedFor, cluster));
  return now.violations.length === 0 ? accepted : { refusal: invalid(object, now.violations), warnings: [] };
};

/**
 * The references that a rule looked up, as the API server has their targets now: the watch lags behind, and one
 * `kubectl apply` may correct both objects.
 */
const liveReferences = async (
  object: KubeObject,
  askedFor: readonly string[],
  cluster: AdmissionContext,
): Promise<readonly ResolvedReference[]> => {
  const { namespace } = keyOf(object);
  const named = new Map(lookedUpReferences(object).map((each) => [textOf(each), each]));
  const now: ResolvedReference[] = [];
  for (const each of askedFor.flatMap((asked) => named.get(asked) ?? [])) {
    const { kind, name } = each;
    const known = cluster.source.get(sourceKind(kind), namespace, name);
    const target = await getLive({ kind, namespace, name }, known, cluster);
    const [broken] = target === undefined ? [] : (await cluster.validate(target, [])).violations;
    now.push(resolved(each, target, broken));
  }
  return now;
};

/**
 * Warnings for settings that are accepted and have no effect, or another one than intended; conditions report the same.
 */
const warningsAbout = (
  object: KubeObject,
  oldObject: KubeObject | undefined,
  references: readonly ResolvedReference[],
): readonly string[] => {
  const before = oldObject && new Set(lookedUpReferences(oldObject).map(textOf));
  // A new object may be created before its references: objects that are applied together come in any order.
  const isNewlyNamed = (reference: Reference): boolean => before?.has(textOf(reference)) === false;
  const open = unresolved(references).filter((each) => each.invalid !== undefined || isNewlyNamed(each));
  const { kind, spec } = object;
  const told = [
    ...unsupported(kind, { spec: withoutSuperseded(spec ?? {}) }),
    ...deprecatedTelemetry(object),
    ...(oldObject === undefined || unreadable(oldObject) !== undefined ? [] : movedIssuer(object, oldObject)),
    ...(kind === 'VirtualMCPServer' ? [...literalHeaderValues(spec ?? {}), ...ignoredGuards(spec ?? {})] : []),
  ];
  return [...told.map(violationText), ...new Set(open.map(wordsFor))];
};

/** Details of another object are in its own condition, for callers who may read it. */
const wordsFor = (open: ResolvedReference): string =>
  open.invalid === undefined
    ? unresolvedText(open)
    : `${open.kind} ${open.name} cannot be used; its condition Valid says why`;

const textOf = ({ kind, name }: Reference): string => `${kind}/${name}`;

/** The API server passes on 4,096 characters in all. */
const MAX_WARNINGS = 10;

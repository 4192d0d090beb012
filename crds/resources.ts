import { findingsIn, unsupportedIn } from '../runtime/config/index.ts';
import { API_VERSION, crdOf, objectSchema } from './crd.ts';
import type { Fields } from './defaults.ts';
import { isObject, ownProperty, withDefaults } from './defaults.ts';
import type { KindDefinition } from './kind.ts';
import { kinds } from './kinds.ts';
import type { ResourceProblem } from './problem.ts';
import { pathText } from './problem.ts';
import type { Reference } from './refs.ts';
import { kindsReferredTo, referencesIn } from './refs.ts';
import type { SchemaNode } from './structural.ts';
import { problemsIn } from './validate.ts';

export interface ResourceObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

export type ParsedResource =
  | { readonly ok: true; readonly value: ResourceObject }
  | { readonly ok: false; readonly problems: readonly ResourceProblem[] };

/**
 * Gives a manifest the verdict that `kubectl apply` would get: unknown fields, types, bounds, rules and legal names.
 * The value is the object as the API server would store it: with defaults, durations still as text, without `status`.
 */
export function parseResource(object: unknown): ParsedResource {
  const schema = schemaFor(object);
  if (!('node' in schema)) return { ok: false, problems: [schema] };
  const { status: _, ...wanted } = schema.object;
  const value = withDefaults(schema.node, wanted);
  const problems = problemsIn(schema.node, value);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: value as ResourceObject };
}

function schemaFor(object: unknown): { node: SchemaNode; object: Fields } | ResourceProblem {
  if (!isObject(object)) return problem('', 'is not an object', 'write a manifest with apiVersion, kind and metadata');
  const { apiVersion, kind } = object;
  const definition = typeof kind === 'string' ? ownProperty<KindDefinition>(kinds, kind) : undefined;
  if (definition === undefined) {
    return problem('kind', `unknown kind ${JSON.stringify(kind)}`, `use one of ${Object.keys(kinds).join(', ')}`);
  }
  if (apiVersion !== API_VERSION) {
    return problem('apiVersion', `unknown version ${JSON.stringify(apiVersion)}`, `use ${API_VERSION}`);
  }
  return { node: nodeOf(definition), object };
}

const problem = (path: string, reason: string, remedy: string): ResourceProblem => ({ path, reason, remedy });

const nodes = new Map<string, SchemaNode>();

/** The schema of a kind, translated once. */
function nodeOf(definition: KindDefinition): SchemaNode {
  const known = nodes.get(definition.kind);
  if (known !== undefined) return known;
  const node = objectSchema(definition);
  nodes.set(definition.kind, node);
  return node;
}

/** Every object of the same namespace that this one names. */
export function references(kind: string, object: unknown): readonly Reference[] {
  const definition = ownProperty<KindDefinition>(kinds, kind);
  return definition === undefined ? [] : referencesIn(nodeOf(definition), object);
}

/** Every kind that objects of this kind may name. */
export function referredKinds(kind: string): readonly string[] {
  const definition = ownProperty<KindDefinition>(kinds, kind);
  return definition === undefined ? [] : kindsReferredTo(nodeOf(definition));
}

/** What the object asks for that this program does not do yet. */
export function unsupported(kind: string, object: Fields): readonly ResourceProblem[] {
  const definition = ownProperty<KindDefinition>(kinds, kind);
  if (definition === undefined) return [];
  return unsupportedIn(definition.spec, object['spec']).map(({ path, reason, remedy }) => ({
    path: pathText(['spec', ...path]),
    reason,
    remedy,
  }));
}

/**
 * What the contract refuses in a spec. Of an object that the API server took only what neither OpenAPI nor CEL can say
 * is left: workflow graphs, addresses that no parser takes.
 */
export function contractProblems(kind: string, object: Fields): readonly ResourceProblem[] {
  const definition = ownProperty<KindDefinition>(kinds, kind);
  if (definition === undefined || (definition.specIsOptional && object['spec'] === undefined)) return [];
  return findingsIn(definition.spec, object['spec']).map(({ path, isUnknownKey, reason, remedy }) => ({
    path: pathText(['spec', ...path.map((step) => (typeof step === 'symbol' ? String(step) : step))]),
    reason,
    remedy,
    ...(isUnknownKey === true && { isUnknownField: true }),
  }));
}

/** The CustomResourceDefinitions of all kinds, in the order of their names. */
export const crdManifests = (): readonly ResourceObject[] => Object.values(kinds).map((kind) => crdOf(kind));

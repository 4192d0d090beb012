import type { PolicyRequest } from './engine.ts';
import { type Uid, uidKey, type WrittenEntities, type WrittenEntity } from './entities.ts';
import type { Environment } from './environment.ts';
import type { Reads } from './argument-uses.ts';
import type { ReadValues } from './read-values.ts';
import type { Subject } from './subject.ts';
import type { EntityValue, RecordValue, Represented, Value } from './values.ts';
import { mayBe } from './operators.ts';

/** Who asks, by what policies read of them. */
export interface Principal {
  readonly entity: EntityValue;
  readonly claims: ReadValues;
}

/** What does not change with a request. */
export interface World {
  /** Name of the server: `MCP::"<name>"`. */
  readonly server: string;
  readonly written: WrittenEntities;
}

export const parentsOf = ({ backend, entity: { type, id } }: Subject, { server, written }: World): readonly Uid[] => [
  ...(backend === undefined ? [] : [{ type: 'Backend', id: backend }]),
  { type: 'MCP', id: server },
  ...(id === undefined ? [] : (written.get(uidKey({ type, id }))?.parents ?? [])),
];

const valuesOf = ({ known }: ReadValues): ReadonlyMap<string, Value> =>
  new Map([...known].map(([name, { value }]) => [name, value]));

const EMPTY: ReadonlyMap<string, Value> = new Map();

/** The environment in which conditions are evaluated here; `args` undefined: not known. */
export const environmentOf = (
  { entity, claims }: Principal,
  subject: Subject,
  world: World,
): ((args: ReadonlyMap<string, Represented> | undefined) => Environment) => {
  const { written } = world;
  const action: EntityValue = { kind: 'entity', type: 'Action', id: subject.action };
  const claimValues = valuesOf(claims);
  const attributes = attributesWith({ entity, claims: claimValues }, subject, written);
  const isBelow = isBelowIn(subject, world);
  return (args) => ({
    principal: entity,
    action,
    resource: subject.entity,
    claims: claimValues,
    args: args && (args.size === 0 ? EMPTY : new Map([...args].map(([name, { value }]) => [name, value]))),
    attributesOf: attributes,
    isBelow,
  });
};

const attributesWith = (
  principal: { readonly entity: EntityValue; readonly claims: ReadonlyMap<string, Value> },
  subject: Subject,
  written: WrittenEntities,
): Environment['attributesOf'] => {
  const writtenOf = ({ type, id }: EntityValue): RecordValue | undefined =>
    id === undefined ? undefined : written.get(uidKey({ type, id }))?.attributes;
  const ofPrincipal = joined(writtenOf(principal.entity), principal.claims);
  const ofSubject = subject.attributes && joined(writtenOf(subject.entity), subject.attributes.members);
  return (entity) => {
    if (entity.id === undefined) return 'unknown';
    if (isSame(entity, principal.entity)) return ofPrincipal;
    return isSame(entity, subject.entity) ? ofSubject : writtenOf(entity);
  };
};

const isSame = (a: EntityValue, b: EntityValue): boolean => a.type === b.type && a.id === b.id;

const joined = (written: RecordValue | undefined, own: ReadonlyMap<string, Value>): RecordValue => ({
  kind: 'record',
  members: written ? new Map([...written.members, ...own]) : own,
});

const isBelowIn = (subject: Subject, { server, written }: World): Environment['isBelow'] => {
  const known = new Map<string, ReadonlySet<string>>();
  const above = (entity: EntityValue): ReadonlySet<string> => {
    const { type, id } = entity;
    const key = id === undefined ? type : uidKey({ type, id });
    const before = known.get(key);
    if (before) return before;
    const parents = isSame(entity, subject.entity)
      ? parentsOf(subject, { server, written })
      : (written.get(key)?.parents ?? []);
    const found = aboveIn(written, parents);
    known.set(key, found);
    return found;
  };
  return (entity, other) => {
    if (other.id === undefined)
      return entity.type === other.type && mayBe(other, entity) ? maybeSame(entity, other) : undefined;
    if (above(entity).has(uidKey({ type: other.type, id: other.id }))) return true;
    if (entity.id !== undefined) return entity.type === other.type && entity.id === other.id;
    if (entity.type === other.type && mayBe(entity, other)) return undefined;
    const isWritten = [...written.values()].some(
      ({ uid }) => uid.type === entity.type && mayBe(entity, { kind: 'entity', ...uid }),
    );
    return isWritten ? undefined : false;
  };
};

/** One and the same entity is below itself, even where its id is not known. */
const maybeSame = (entity: EntityValue, other: EntityValue): true | undefined => (entity === other ? true : undefined);

const aboveIn = (written: WrittenEntities, parents: readonly Uid[]): ReadonlySet<string> => {
  const found = new Set<string>();
  const open = [...parents];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const key = uidKey(next);
    if (found.has(key)) continue;
    found.add(key);
    open.push(...(written.get(key)?.parents ?? []));
  }
  return found;
};

/** The request to Cedar: of claims, arguments and entities only what these policies read. */
export const requestOf = (
  who: Principal,
  subject: Subject,
  { args, reads, world }: { readonly args: ReadValues; readonly reads: Reads; readonly world: World },
): PolicyRequest => {
  const principal = { type: who.entity.type, id: who.entity.id ?? '' };
  const resource = { type: subject.entity.type, id: subject.entity.id ?? '' };
  const context: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, { json }] of who.claims.known)
    if (reads.wholeContext || reads.contextClaims.has(name)) context[name] = json;
  for (const [name, { json }] of args.known) if (reads.wholeContext || reads.args.has(name)) context[name] = json;
  const action = { type: 'Action', id: subject.action };
  const entities = needsEntities(reads, world)
    ? entitiesOf({ who, subject }, { principal, action, resource }, { reads, world })
    : [];
  return { principal, action, resource, context: context as PolicyRequest['context'], entities };
};

/** An entity that is not there has neither attributes nor parents either. */
const needsEntities = ({ attributes, entities }: Reads, { written }: World): boolean =>
  attributes.size > 0 || entities.size > 0 || written.size > 0;

const entitiesOf = (
  { who, subject }: { readonly who: Principal; readonly subject: Subject },
  { principal, action, resource }: Readonly<Record<'principal' | 'action' | 'resource', Uid>>,
  { reads, world }: { readonly reads: Reads; readonly world: World },
): PolicyRequest['entities'] => {
  const attributes = ofRead(subject.attributes?.members ?? EMPTY, reads, (value) => value);
  const claims = ofRead(who.claims.known, reads, ({ json }) => json);
  const parents = parentsToSend(subject, reads, world);
  const entities = new Map<string, unknown>();
  const { written } = world;
  if (claims || written.size > 0) add(entities, principal, { attrs: claims ?? {}, parents: [] }, written);
  if (attributes || parents.length > 0 || written.size > 0)
    add(entities, resource, { attrs: attributes ?? {}, parents }, written);
  if (written.size > 0) addWritten(entities, [action, ...reads.entities.values()], written);
  return [...entities.values()] as PolicyRequest['entities'];
};

/** The attributes that policies read of entities; undefined: none of these. */
const ofRead = <T>(
  known: ReadonlyMap<string, T>,
  { attributes }: Reads,
  jsonOf: (value: T) => unknown,
): Record<string, unknown> | undefined => {
  let found: Record<string, unknown> | undefined;
  for (const name of attributes) {
    const value = known.get(name);
    if (value !== undefined) (found ??= {})[name] = jsonOf(value);
  }
  return found;
};

/**
 * The parents of the subject that a policy can ask for: those it names. Where `entitiesJson` has entities, their
 * attributes and parents may lead to any.
 */
const parentsToSend = (subject: Subject, { entities }: Reads, world: World): readonly Uid[] => {
  const parents = parentsOf(subject, world);
  return world.written.size > 0 ? parents : parents.filter((parent) => entities.has(uidKey(parent)));
};

const add = (
  entities: Map<string, unknown>,
  uid: Uid,
  { attrs, parents }: { readonly attrs: object; readonly parents: readonly Uid[] },
  written: WrittenEntities,
): void => {
  const own: WrittenEntity | undefined = written.get(uidKey(uid));
  entities.set(uidKey(uid), {
    uid,
    attrs: own ? { ...own.attrs, ...attrs } : attrs,
    parents: own ? [...new Map([...own.parents, ...parents].map((each) => [uidKey(each), each])).values()] : parents,
    ...(own?.tags && { tags: own.tags }),
  });
};

/** What `entitiesJson` has of the entities at hand, of those that policies name, and of all that these lead to. */
const addWritten = (entities: Map<string, unknown>, named: readonly Uid[], written: WrittenEntities): void => {
  const open: unknown[] = [...entities.values(), ...named];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const { type, id } = next as Partial<Uid>;
    const key = typeof type === 'string' && typeof id === 'string' ? uidKey({ type, id }) : undefined;
    const found = key === undefined || entities.has(key) ? undefined : written.get(key);
    if (found && key !== undefined) {
      const { uid, attrs, parents, tags } = found;
      entities.set(key, { uid, attrs, parents, ...(tags && { tags }) });
      open.push(attrs, tags, parents);
    } else open.push(...Object.values(next));
  }
};

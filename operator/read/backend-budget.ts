import type { KubeObject } from '../object.ts';
import type { Source } from './source.ts';

/** Backends of one server: no more fit in the ConfigMap that it is rendered to. */
export const MAX_BACKENDS = 2_000;
/** Backends of all servers of a namespace, each counted once for every server that has it. */
export const MAX_NAMESPACE_BACKENDS = 20_000;

/** Members of a group by its name; of one list. */
type Counts = ReadonlyMap<string, number>;

/**
 * Counts the members of groups. A list is counted once: the cache hands out the same one until something in it changes.
 */
export class BackendBudget {
  readonly #kinds: readonly string[];
  readonly #groupOf: (object: KubeObject) => string | undefined;
  readonly #counted = new WeakMap<readonly KubeObject[], Counts>();

  /** `kinds` are those of members. */
  constructor(kinds: readonly string[], groupOf: (object: KubeObject) => string | undefined) {
    this.#kinds = kinds;
    this.#groupOf = groupOf;
  }

  /**
   * Why this server, which serves one of these groups (of the newest spec and of the accepted one), is not planned;
   * undefined: it is within the budget.
   */
  exceededBy(source: Source, server: KubeObject, groups: readonly string[]): string | undefined {
    const { namespace = '' } = server.metadata;
    const members = this.#kinds.map((kind) => this.#countsOf(source.list(kind, namespace)));
    const countOf = (group: string): number => members.reduce((sum, counts) => sum + (counts.get(group) ?? 0), 0);
    const own = Math.max(0, ...groups.map(countOf));
    if (own > MAX_BACKENDS) {
      return `${groups.filter((group) => countOf(group) === own).join(', ')}: ${own} members, and one server has ${MAX_BACKENDS} backends at most; use several groups, each with a server of its own`;
    }
    const servers = source.list(server.kind, namespace);
    const together = servers
      .filter((other) => other.metadata.name !== server.metadata.name && isBefore(other, server))
      .reduce((sum, other) => sum + countOf(this.#groupOf(other) ?? ''), own);
    return together > MAX_NAMESPACE_BACKENDS
      ? `this server and the older ones of the namespace have ${together} backends together, and ${MAX_NAMESPACE_BACKENDS} are the most; remove servers or members of their groups, or use another namespace`
      : undefined;
  }

  #countsOf(objects: readonly KubeObject[]): Counts {
    const known = this.#counted.get(objects);
    if (known !== undefined) return known;
    const counts = new Map<string, number>();
    for (const object of objects) {
      const group = this.#groupOf(object);
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    this.#counted.set(objects, counts);
    return counts;
  }
}

/** The older one; of the same age, by name. */
const isBefore = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean => {
  const [one, other] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  return one === other ? a.name < b.name : one < other;
};

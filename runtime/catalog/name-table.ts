import type { Access, BackendTarget, Target } from '../call/index.ts';
import { type Named, ownKey } from './candidate.ts';
import { MAX_URI_LENGTH, uriTemplate } from './uri-template.ts';

/** Kinds of names in the catalog. */
export type Listed = Exclude<Access['names'], 'task'>;

/** Finds the target of a name. */
export interface NameTable {
  readonly find: (names: Listed, name: string) => Target | undefined;
}

/** Targets by advertised name. */
export type Names = ReadonlyMap<string, Target>;

export type FindResource = (uri: string) => Target | undefined;

export const nameTable = (tools: Names, prompts: Names, resource: FindResource): NameTable => ({
  find: (names, name) => {
    if (names === 'tool') return tools.get(name);
    return names === 'prompt' ? prompts.get(name) : resource(name);
  },
});

/** Targets of these entries by advertised name. */
export const targetsOf = (named: readonly Named[]): Names =>
  new Map(named.map((each) => [each.advertised, targetOf(each)]));

export const targetOf = ({ backend, item, override }: Named): BackendTarget => ({
  kind: 'backend',
  backend,
  ownName: ownKey(item),
  listed: item,
  ...(override?.annotations && { annotations: override.annotations }),
});

/** The resources and templates that backends list. */
export interface KnownResources {
  readonly resources: readonly Named[];
  readonly templates: readonly Named[];
  /** Backends that are up and have resources or templates. */
  readonly owners: ReadonlySet<string>;
}

/** Steps of template matching for one URI: bounds the work that a client and a backend can cause together. */
const MAX_STEPS = 4_000_000;

/**
 * Finds the backend that lists a URI, or a template that it matches; where only one backend has resources, all other
 * URIs belong to that backend, too, since servers may have more than they list.
 */
export const resourceFinder = ({ resources, templates, owners }: KnownResources): FindResource => {
  const byUri = targetsOf(resources);
  const byTemplate = new Map(templates.map((each) => [each.item.key, { ...targetOf(each), template: each.item.key }]));
  const patterns = templates
    .flatMap(({ backend, item }) => {
      const pattern = uriTemplate(item.key);
      return pattern ? [{ backend, template: item.key, pattern }] : [];
    })
    // The sort is stable: among equals the earlier backend wins.
    .sort((a, b) => b.pattern.literalLength - a.pattern.literalLength);
  const byPattern = (uri: string): { readonly backend: string; readonly template?: string } | undefined => {
    let steps = 0;
    for (const { backend, template, pattern } of patterns) {
      if (!uri.startsWith(pattern.beginning)) continue;
      steps += pattern.cost(uri.length);
      if (steps > MAX_STEPS) return undefined;
      if (pattern.matches(uri)) return { backend, template };
    }
    return undefined;
  };
  const [first] = owners;
  const onlyOwner = owners.size === 1 && first !== undefined ? { backend: first } : undefined;
  return (uri) => {
    const known = byUri.get(uri) ?? byTemplate.get(uri);
    if (known) return known;
    const owner = (uri.length <= MAX_URI_LENGTH ? byPattern(uri) : undefined) ?? onlyOwner;
    return owner && { kind: 'backend', ...owner, ownName: Buffer.from(JSON.stringify(uri)) };
  };
};

import type { Catalog, Collision, SourceBackend } from './catalog.ts';
import { toolCandidates } from './catalog.ts';
import { type Candidate, ownKey } from './candidate.ts';
import { conflictRule } from './conflict-rules.ts';
import { splitHidden } from './hiding.ts';
import { LIST_OF } from './visible.ts';
import type { Listed } from './name-table.ts';
import type { AggregationSettings } from './settings.ts';
import type { VmcpError } from '../errors.ts';
import { compareText } from '../text.ts';

/** Why a name is offered or not, before policies. */
export interface NameTrace {
  /** The tools that the name may mean: as clients see it, after overrides, or as the backend has it. */
  readonly tools: readonly ToolTrace[];
  /** Conflicts about the name as clients see it. */
  readonly collisions: readonly Collision[];
  /** The backend to which a name of this form belongs, where names show that. */
  readonly owner: string | undefined;
  /** Backends that could not be listed for this caller; the name may be one of theirs. */
  readonly unlisted: readonly UnlistedBackend[];
}

/** A backend that could not be listed with the credential of a caller. */
export interface UnlistedBackend {
  readonly backend: string;
  readonly error: VmcpError;
}

/** What became of one tool of a backend. */
export interface ToolTrace {
  readonly backend: string;
  readonly ownName: string;
  /** The name that an override gives it. */
  readonly renamedTo?: string;
  readonly outcome: ToolOutcome;
}

export type ToolOutcome =
  | { readonly kind: 'offered'; readonly name: string }
  | { readonly kind: 'hidden'; readonly by: HiddenBy }
  /** Another backend, or a tool of the runtime's own (`workflow`, `builtin`), has its name. */
  | { readonly kind: 'lost'; readonly name: string; readonly to: string }
  /** Rule `manual`: none of these backends gets the name. */
  | { readonly kind: 'contested'; readonly name: string; readonly by: readonly string[] }
  | { readonly kind: 'nameless' };

export type HiddenBy = 'excludeAllTools' | 'excludeAll' | 'filter';

/** What a trace is made from: those of the catalog. */
export interface TracedCatalog {
  readonly catalog: Catalog;
  readonly sources: readonly SourceBackend[];
  readonly settings: AggregationSettings;
  readonly unlisted: readonly UnlistedBackend[];
}

/** Takes as long as building the catalog, so it is for people who ask, not for requests. */
export const traceName = (of: TracedCatalog, names: Listed, name: string): NameTrace => ({
  tools: names === 'tool' ? toolTraces(of, name) : [],
  collisions: of.catalog.collisions.filter((each) => each.kind === LIST_OF[names] && each.name === name),
  owner:
    names === 'resource'
      ? undefined
      : conflictRule(of.settings.naming).ownerOf(
          name,
          of.sources.map((each) => each.name),
        ),
  unlisted: of.unlisted,
});

const toolTraces = ({ catalog, sources, settings }: TracedCatalog, name: string): readonly ToolTrace[] => {
  const rule = conflictRule(settings.naming);
  const backends = sources.toSorted((a, b) => compareText(a.name, b.name));
  const candidates = toolCandidates(backends, settings);
  const { hidden } = splitHidden(backends, settings, { candidates, namesOf: rule.namesOf });
  return candidates
    .filter((each) => each.item.key === name || each.name === name || rule.namesOf(each).includes(name))
    .map((each) => ({
      backend: each.backend,
      ownName: each.item.key,
      ...(each.name !== each.item.key && { renamedTo: each.name }),
      outcome: hidden.includes(each)
        ? { kind: 'hidden', by: hiddenBy(settings, each.backend) }
        : shownOutcome(catalog, each, rule.namesOf(each)),
    }));
};

const hiddenBy = ({ excludeAllTools, tools }: AggregationSettings, backend: string): HiddenBy => {
  if (excludeAllTools) return 'excludeAllTools';
  return tools.get(backend)?.excludeAll ? 'excludeAll' : 'filter';
};

const shownOutcome = (catalog: Catalog, candidate: Candidate, names: readonly string[]): ToolOutcome => {
  const holders = names.map((name) => ({ name, target: catalog.offered.find('tool', name) }));
  const own = holders.find(
    ({ target }) =>
      target?.kind === 'backend' &&
      target.backend === candidate.backend &&
      target.ownName.equals(ownKey(candidate.item)),
  );
  if (own) return { kind: 'offered', name: own.name };
  const contest = catalog.unresolved.find(({ name }) => names.includes(name));
  if (contest) return { kind: 'contested', name: contest.name, by: contest.backends };
  const holder = holders.find(({ target }) => target !== undefined);
  if (!holder?.target) return { kind: 'nameless' };
  const { target } = holder;
  return { kind: 'lost', name: holder.name, to: target.kind === 'backend' ? target.backend : target.kind };
};

import type { Access, Target } from '../call/index.ts';
import type { LiveCatalog, NameTrace, ToolTrace } from '../catalog/index.ts';
import { clipped } from '../text.ts';
import type { Step } from './explanation.ts';
import type { Found } from './found.ts';

/** Whether a name is offered: what filters, overrides and the conflict rule have made of it. */
export const catalogSteps = async (
  { caller, names, name }: Access,
  { target, refusal }: Found,
  { liveCatalog }: { readonly liveCatalog: Pick<LiveCatalog, 'trace'> },
): Promise<readonly Step[]> => {
  if (names === 'task') return [];
  const trace = await liveCatalog.trace({ caller, names, name });
  if (target) return [offeredStep(target, trace), uncontestedStep(trace)];
  const lost = lostTool(trace, name);
  if (lost) return [{ step: 'filter', outcome: 'ok', reason: 'nothing hides it' }, lostStep(lost)];
  return [
    { ...missingStep(names, trace), code: refusal?.code },
    { step: 'conflict', outcome: 'skipped', reason: 'the name is not offered' },
  ];
};

/** The tool that would have this very name; one that is asked for by another name only where nothing else is known. */
const lostTool = ({ tools }: NameTrace, name: string): ToolTrace | undefined => {
  const lost = tools.filter(({ outcome }) => outcome.kind === 'lost' || outcome.kind === 'contested');
  return (
    lost.find(({ outcome }) => 'name' in outcome && outcome.name === name) ??
    (lost.length === tools.length ? lost[0] : undefined)
  );
};

const offeredStep = (target: Target, { tools }: NameTrace): Step => {
  if (target.kind !== 'backend')
    return { step: 'filter', outcome: 'ok', reason: 'it is a tool of this server itself', origin: target.kind };
  const own = tools.find(({ backend, outcome }) => backend === target.backend && outcome.kind === 'offered');
  return {
    step: 'filter',
    outcome: 'ok',
    backend: target.backend,
    ...(own && { ownName: clipped(own.ownName), ...renamed(own) }),
    reason: `backend "${target.backend}" offers it${own ? ` as "${clipped(own.ownName)}"${renamedText(own)}` : ''}`,
  };
};

const uncontestedStep = ({ collisions, tools }: NameTrace): Step => {
  const losers = new Set([
    ...collisions.map(({ lostBy }) => lostBy),
    ...tools.filter(({ outcome }) => outcome.kind === 'lost').map(({ backend }) => backend),
  ]);
  return losers.size === 0
    ? { step: 'conflict', outcome: 'ok', reason: 'no other backend wants the name' }
    : {
        step: 'conflict',
        outcome: 'ok',
        reason: `it keeps the name, which ${quoted([...losers])} wants, too`,
        lostBy: [...losers],
      };
};

const lostStep = ({ backend, ownName, outcome }: ToolTrace): Step => {
  const common = { step: 'conflict', outcome: 'refused', backend, ownName: clipped(ownName) } as const;
  if (outcome.kind === 'contested')
    return {
      ...common,
      claimedBy: outcome.by,
      reason: `${quoted(outcome.by)} claim the name "${clipped(outcome.name)}", and rule "manual" gives it to none`,
      remedy: 'give one of them another name in config.aggregation.tools[].overrides',
    };
  const { name, to } = outcome.kind === 'lost' ? outcome : { name: ownName, to: '' };
  return {
    ...common,
    keptBy: to,
    reason: `the tool of backend "${backend}" has lost the name "${clipped(name)}" to "${to}"`,
    remedy: 'give one of them another name in config.aggregation.tools[].overrides, or take another conflictResolution',
  };
};

const missingStep = (names: Access['names'], { tools, owner, unlisted }: NameTrace): Step => {
  const hidden = tools.find(({ outcome }) => outcome.kind === 'hidden');
  if (hidden?.outcome.kind === 'hidden') {
    const { by } = hidden.outcome;
    return {
      step: 'filter',
      outcome: 'refused',
      backend: hidden.backend,
      ownName: clipped(hidden.ownName),
      ...renamed(hidden),
      hiddenBy: by,
      reason: `"${clipped(hidden.ownName)}" of backend "${hidden.backend}" is hidden by ${by}${renamedText(hidden)}`,
      remedy: HIDDEN_REMEDY[by],
    };
  }
  const others = tools.flatMap(({ backend, outcome }) =>
    outcome.kind === 'offered' ? [{ backend, name: outcome.name }] : [],
  );
  if (others.length > 0)
    return {
      step: 'filter',
      outcome: 'refused',
      offeredAs: others.slice(0, MOST_NAMES).map(({ name }) => clipped(name)),
      reason: 'it is offered under another name',
      remedy: `call ${quoted(others.slice(0, MOST_NAMES).map(({ name }) => clipped(name)))}`,
    };
  const missed = unlisted.find(({ backend }) => backend === owner) ?? (owner === undefined ? unlisted[0] : undefined);
  if (missed)
    return {
      step: 'filter',
      outcome: 'refused',
      backend: missed.backend,
      unlisted: unlisted.slice(0, MOST_NAMES).map(({ backend }) => backend),
      reason: `backend "${missed.backend}" could not be listed for this caller: ${missed.error.message}`,
      remedy:
        missed.error.code === 'login_required'
          ? 'let the user sign in at that provider; docs/sign-in.md'
          : 'see what the log of this server says of that backend; docs/outgoing-auth.md',
    };
  return {
    step: 'filter',
    outcome: 'refused',
    ...(owner !== undefined && { backend: owner }),
    reason: owner === undefined ? `no backend lists such a ${names}` : `backend "${owner}" lists no such ${names}`,
    remedy: 'see what the lists hold, and in /status whether all backends are ready',
  };
};

const HIDDEN_REMEDY = {
  excludeAllTools: 'take away config.aggregation.excludeAllTools',
  excludeAll: 'take away excludeAll of the backend in config.aggregation.tools',
  filter: 'add it to the filter of the backend in config.aggregation.tools',
} as const;

const MOST_NAMES = 5;

const renamed = ({ renamedTo }: ToolTrace) => (renamedTo === undefined ? {} : { renamedTo: clipped(renamedTo) });
const renamedText = ({ renamedTo }: ToolTrace): string =>
  renamedTo === undefined ? '' : `, and an override names it "${clipped(renamedTo)}"`;

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

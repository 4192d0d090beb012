import type { BackendSet } from './backends/index.ts';
import {
  buildLiveCatalog,
  type Catalog,
  type LiveCatalog,
  type OfferedBackend,
  type Overlays,
  overlays,
} from './catalog/index.ts';
import type { Clock } from './process/index.ts';
import { catalogSettingsOf, withheldOf } from './config-slices.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import type { Gate } from './gate/index.ts';
import type { Config, LiveConfig } from './config/index.ts';
import { changeLog, type Log } from './observe/index.ts';

export interface CatalogParts {
  readonly config: LiveConfig;
  readonly backends: BackendSet;
  readonly gate: Gate;
  readonly ownTools: OwnToolsByKind;
  readonly liveCatalog: LiveCatalog;
  readonly userLists: Overlays;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lists that differ by user. */
export const userListsOf = (backends: BackendSet, clock: Clock): Overlays =>
  overlays({
    list: (caller, names) => backends.listFor(caller, names),
    listed: () => backends.dependents,
    now: clock.now,
  });

/** The live catalog: the lists of all backends, the lists that differ by user, and the runtime's own tools. */
export const liveCatalogOf = ({
  config,
  backends,
  gate,
  ownTools,
  userLists,
}: Pick<CatalogParts, 'config' | 'backends' | 'gate' | 'ownTools' | 'userLists'>): LiveCatalog =>
  buildLiveCatalog({
    settings: () => catalogSettingsOf(config.current()),
    backends: () => backendStates({ config, backends }),
    firstListed: (timeoutMs) => backends.firstListed(timeoutMs),
    statusKnown: (timeoutMs) => backends.statusKnown(timeoutMs),
    checkUnlisted: (names, timeoutMs) => backends.checkUnlisted(names, timeoutMs),
    refreshLists: (timeoutMs) => backends.refreshLists(timeoutMs),
    // Every call asks.
    overlay: (caller, needed) => (backends.dependents.length === 0 ? undefined : userLists.of(caller, needed)),
    askAgain: userLists.askAgain,
    onOverlayStale: (listener) =>
      backends.onListsChangedFor((caller, change, backend) => {
        if (userLists.noteChange(caller, change, backend)) listener(caller);
      }),
    visible: gate.visible,
    policies: gate.policies,
    ownTools: () => [...(ownTools.builtin?.all() ?? []), ...(ownTools.workflow?.all() ?? [])],
  });

/** The current state of every configured backend, withheld ones included. */
const backendStates = ({ config, backends }: Pick<CatalogParts, 'config' | 'backends'>): readonly OfferedBackend[] => [
  ...backends.all().map(({ name, state }) => ({ name, ...state })),
  ...withheldOf(config.current()),
];

/** Rebuilds the catalog whenever backends or own tools have changed, and logs the changes. */
export const publishChanges = ({
  config,
  backends,
  ownTools,
  liveCatalog,
  clock,
  log,
}: Omit<CatalogParts, 'gate' | 'userLists'>): void => {
  const tell = changeLog(log, clock.now);
  const onChange = (): void => {
    liveCatalog.rebuild();
    const states = backendStates({ config, backends });
    const catalog = liveCatalog.catalog();
    const isEverythingKnown = backends.dependents.length === 0 && states.every(({ lists }) => lists !== undefined);
    const unmatchedLimits = isEverythingKnown ? limitsWithoutTool(config.current(), catalog) : [];
    tell(states, { ...catalog, mismatched: catalog.mismatched(), unmatchedLimits });
  };
  backends.onChange(onChange);
  ownTools.builtin?.onChange(onChange);
  ownTools.workflow?.onChange(onChange);
};

/** Names with a rate limit that no tool has, hidden ones included: a composite tool may call those. */
const limitsWithoutTool = ({ rateLimiting }: Config, { routable }: Catalog): readonly string[] =>
  (rateLimiting?.tools ?? []).map(({ name }) => name).filter((name) => routable.find('tool', name) === undefined);

import type { CallRecord } from '../call/around.ts';
import type { Access } from '../call/call.ts';
import type { Caller } from '../call/caller.ts';
import type { Target } from '../call/target.ts';
import type { VmcpError } from '../errors.ts';
import type { ListKind, Lists } from '../mcp/index.ts';
import type { BackendStatus } from '../status/report.ts';
import type { Catalog } from './catalog.ts';
import type { Listed } from './name-table.ts';
import type { NameTrace } from './name-trace.ts';
import type { OwnTool } from './own-tool.ts';
import type { AggregationSettings } from './settings.ts';
import type { AllPages, Visibility } from './visible.ts';

export interface LiveCatalogSettings extends AggregationSettings {
  readonly partialFailureMode: 'fail' | 'best_effort';
  /** How long lists wait for backends whose status is still `unknown`. */
  readonly waitForUnknownMs: number;
}

export interface LiveCatalogDeps {
  readonly settings: () => LiveCatalogSettings;
  readonly backends: () => readonly OfferedBackend[];
  /** Resolves once every backend's lists were read or could not be, or after `timeoutMs`. */
  readonly firstListed: (timeoutMs: number) => Promise<void>;
  /** Resolves once no backend's status is `unknown`, or after `timeoutMs`. */
  readonly statusKnown: (timeoutMs: number) => Promise<void>;
  /** Resolves once those that were never listed of these backends were checked again; at most after `timeoutMs`. */
  readonly checkUnlisted?: (names: ReadonlySet<string>, timeoutMs: number) => Promise<void>;
  /** Resolves once every backend's lists were read again, which is rate limited; at the latest after `timeoutMs`. */
  readonly refreshLists?: (timeoutMs: number) => Promise<void>;
  /**
   * The backends as listed with the caller's own credential (`overlays`); they replace the shared ones of the same
   * names. Where that takes time, those that are needed are not kept waiting for the others, which are left out then.
   */
  readonly overlay?: (caller: Caller, needed?: Needed) => Overlay | Promise<Overlay> | undefined;
  /** Asks again the backends that the caller has no lists of for want of a credential (`Overlays.askAgain`). */
  readonly askAgain?: (caller: Caller) => Promise<void> | undefined;
  /** Calls `listener` when the overlay of a caller is no longer what the caller's backends list. */
  readonly onOverlayStale?: (listener: (caller: Caller) => void) => void;
  /** What this caller may see; undefined: all. */
  readonly visible?: ((caller: Caller) => Visibility | undefined | Promise<Visibility | undefined>) | undefined;
  /** As in `Gate`. */
  readonly policies?: (() => unknown) | undefined;
  /** Tools that no backend lists. */
  readonly ownTools?: () => readonly OwnTool[];
}

/** The backends that a request is about, asked only where others would be waited for; undefined: all of them. */
export type Needed = () => ReadonlySet<string> | undefined;

/** The current state of a backend. */
export interface OfferedBackend {
  readonly name: string;
  readonly status: BackendStatus;
  /** Why the backend is not ready. */
  readonly message?: string;
  /** The backend is not contacted at all, so its names are not known. */
  readonly isWithheld?: boolean;
  /** Its last good lists. */
  readonly lists?: Lists;
  /** Why the backend could not be listed for this caller; the error for a request that names one of its tools. */
  readonly error?: VmcpError;
}

/** The catalog as one caller may see it, for lists and for look-ups by name alike. */
export interface CallerCatalog {
  /** All that is offered, in lists or not. */
  readonly all: AllPages;
  /** `routable` is for steps of workflows: it includes hidden tools, and only policies restrict it. */
  readonly find: (table: 'offered' | 'routable', names: Listed, name: string) => Target | undefined;
  /** As in `Catalog`. */
  readonly routableName: Catalog['routableName'];
  /** As in `Catalog`. */
  readonly stepTool: Catalog['stepTool'];
  /** What lists show. */
  readonly listed: AllPages;
}

/** `method`: absent where the name alone is asked for. */
export type LookedUp = Pick<Access, 'names' | 'name' | 'caller' | 'origin'> & Partial<Pick<Access, 'method'>>;

/** The current catalog: frozen, and replaced as a whole whenever backends or settings have changed. */
export interface LiveCatalog {
  /** The catalog that all callers share. */
  readonly catalog: () => Catalog;
  readonly rebuild: () => void;
  /**
   * JSON text of the result of a list request of this caller, as revisions before 2026-07-28 have it. Throws
   * `lists_unavailable` under
   * `partialFailureMode: fail`. `whole`: all that is offered, even where some tools are listed alone.
   */
  readonly list: (kind: ListKind, cursor: string | undefined, caller: Caller, extent?: 'whole') => Promise<Buffer>;
  /** The catalog as this caller may see it, at this moment. */
  readonly offeredTo: (caller: Caller) => CallerCatalog | Promise<CallerCatalog>;
  /** As `offeredTo`, once all is there that `list` waits for, or as much of it as there is after the same time. */
  readonly listableFor: (caller: Caller) => Promise<CallerCatalog>;
  /**
   * Throws `unknown_name`, or `forbidden` where there are policies, or `backend_unavailable` where the name shows that
   * it belongs to a backend that is withheld or was never reached. The target of a name that policies hide is noted in
   * `record`.
   */
  readonly lookUp: (access: LookedUp, record?: Pick<CallRecord, 'target'>) => Target | Promise<Target>;
  /** Why a name is offered to this caller or not, policies aside. */
  readonly trace: (of: {
    readonly caller: Caller;
    readonly names: Listed;
    readonly name: string;
  }) => Promise<NameTrace>;
  /**
   * Calls `listener` with the kinds of shared lists that have changed; with all kinds where policies have changed.
   * Returns the function that unsubscribes.
   */
  readonly onListsChanged: (listener: ListsListener) => () => void;
}

/** With `caller`, the lists of this caller alone have changed. */
export type ListsListener = (kinds: readonly ListKind[], caller?: Caller) => void;

/** A caller's catalog with its lists and its overlay. */
export interface CallerView extends CallerCatalog {
  /** Of all that its callers could see. */
  readonly catalog: Catalog;
  /** As `find`, for names that this caller may not see, too. */
  readonly findHidden: CallerCatalog['find'];
  readonly overlay: Overlay;
}

/**
 * The backends that are listed with a caller's own credential, for that caller; the same array until they are listed
 * again.
 */
export type Overlay = readonly OfferedBackend[];

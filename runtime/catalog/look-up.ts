import type { Access, Caller, CallRecord, Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { conflictRule } from './conflict-rules.ts';
import type { Listed } from './name-table.ts';
import type {
  CallerCatalog,
  CallerView,
  LiveCatalogDeps,
  LookedUp,
  Needed,
  OfferedBackend,
  LiveCatalogSettings,
} from './live-catalog.ts';
import { withOverlay } from './overlay.ts';
import { taskTarget } from './task-target.ts';

export interface LookUpDeps extends Pick<
  LiveCatalogDeps,
  'askAgain' | 'backends' | 'checkUnlisted' | 'policies' | 'refreshLists' | 'statusKnown'
> {
  /** The settings that the catalogs were made with. */
  readonly settings: () => LiveCatalogSettings;
  /** With `needed`, without what other backends list to this caller alone, where that would have to be waited for. */
  readonly views: (caller: Caller, needed?: Needed) => CallerView | Promise<CallerView>;
}

/** Finds the target of a name for a caller (`LiveCatalog.lookUp`). */
export const lookUpIn = (deps: LookUpDeps) => {
  const known = (): Promise<void> => deps.statusKnown(deps.settings().waitForUnknownMs);
  const hasPolicies = (): boolean => deps.policies?.() !== undefined;
  const task = (id: string): Target | Promise<Target> => {
    try {
      return taskTarget(id, { backends: deps.backends, known });
    } catch (error) {
      throw hasPolicies() ? forbidden() : error;
    }
  };
  const again = async (asked: Asked, record: Noted | undefined): Promise<Target> => {
    const { names, name, caller } = asked;
    const view = () => viewFor(asked, deps);
    // A client may remember names from before a restart, or from another replica: a name is unknown only once no
    // backend's status is `unknown`. The first checks of a backend in a new pod may all fail, so the backend that the
    // name belongs to by its form is checked again. Nor does every backend notify of new entries. And the user may have
    // signed in since a backend was asked for its lists.
    const { waitForUnknownMs } = deps.settings();
    const askedAgain = async () => deps.askAgain?.(caller);
    const checked = async () => deps.checkUnlisted?.(ownersOf(asked, deps) ?? NONE, waitForUnknownMs);
    const refreshed = async () => deps.refreshLists?.(waitForUnknownMs);
    for (const wait of [askedAgain, known, checked, refreshed]) {
      await wait();
      const target = findIn(await view(), asked);
      if (target) return target;
    }
    const { overlay, findHidden } = await view();
    if (hasPolicies()) {
      if (record) record.target = findHidden(tableOf(asked), names, name);
      throw forbidden();
    }
    return unknown(withOverlay(deps.backends(), overlay), deps.settings(), { names, name });
  };
  const named = (asked: Asked, record: Noted | undefined): Target | Promise<Target> => {
    const view = viewFor(asked, deps);
    return view instanceof Promise
      ? view.then((seen) => findIn(seen, asked) ?? again(asked, record))
      : (findIn(view, asked) ?? again(asked, record));
  };
  /** The steps that follow answers call the tools of the workflow: the caller must still be offered it. */
  const goesOn = async (
    found: Target | Promise<Target>,
    asked: Omit<Asked, 'names'>,
    record: Noted | undefined,
  ): Promise<Target> => {
    const target = await found;
    if (target.kind !== 'workflow') return target;
    const offered = await named({ ...asked, names: 'tool', name: target.workflow }, record);
    if (offered.kind !== 'workflow') throw new VmcpError('unknown_name', 'unknown task');
    return offered;
  };
  return (access: LookedUp, record?: Noted): Target | Promise<Target> => {
    const { names, name, caller, origin, method } = access;
    if (names !== 'task') return named({ names, name, caller, origin }, record);
    const found = task(name);
    return method === 'tasks/update' ? goesOn(found, { name, caller, origin }, record) : found;
  };
};

const NONE: ReadonlySet<string> = new Set();

type Noted = Pick<CallRecord, 'target'>;

interface Asked extends Pick<Access, 'name' | 'caller' | 'origin'> {
  readonly names: Listed;
}

const viewFor = (asked: Asked, deps: LookUpDeps): CallerView | Promise<CallerView> =>
  deps.views(asked.caller, () => ownersOf(asked, deps));

const tableOf = ({ origin }: Asked) => (origin === 'workflow' ? 'routable' : 'offered');

const findIn = (catalog: CallerCatalog, asked: Asked): Target | undefined =>
  catalog.find(tableOf(asked), asked.names, asked.name);

/**
 * The backends that the name may belong to, where it shows that by its form: whatever the others list makes no
 * difference then, and one that is slow to list keeps calls of the others waiting for nothing. Undefined: all.
 */
const ownersOf = (
  { names, name }: { readonly names: Listed; readonly name: string },
  { backends, settings }: Pick<LookUpDeps, 'backends' | 'settings'>,
): ReadonlySet<string> | undefined => {
  if (names === 'resource') return undefined;
  const { ownerOf } = conflictRule(settings().naming);
  const owners = backends().flatMap(({ name: backend }) => ownerOf(name, [backend]) ?? []);
  return owners.length > 0 ? new Set(owners) : undefined;
};

/** docs/decisions.md "Hidden names" */
const forbidden = (): VmcpError => new VmcpError('forbidden', 'forbidden');

const unknown = (
  backends: readonly OfferedBackend[],
  { naming }: LiveCatalogSettings,
  { names, name }: { readonly names: Listed; readonly name: string },
): never => {
  const owner =
    names === 'resource'
      ? undefined
      : conflictRule(naming).ownerOf(
          name,
          backends.map((backend) => backend.name),
        );
  const served = backends.find((backend) => backend.name === owner);
  if (served?.isWithheld) throw new VmcpError('backend_unavailable', `backend "${owner}" is not served`);
  if (served?.error) throw served.error;
  if (served && isUnreached(served))
    throw new VmcpError('backend_unavailable', `backend "${owner}" has not been reached yet`);
  throw new VmcpError('unknown_name', `unknown ${names}`);
};

/** Nothing is known of what it lists: a name that would be its own may be a tool of it. */
const isUnreached = ({ status, lists }: OfferedBackend): boolean =>
  lists === undefined && (status === 'unknown' || status === 'unavailable');

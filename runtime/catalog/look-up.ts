import type { Access, Caller, CallRecord, Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { conflictRule } from './conflict-rules.ts';
import type { Listed } from './name-table.ts';
import type {
  CallerCatalog,
  CallerView,
  LiveCatalogDeps,
  OfferedBackend,
  LiveCatalogSettings,
} from './live-catalog.ts';
import { withOverlay } from './overlay.ts';
import { taskTarget } from './task-target.ts';

export interface LookUpDeps extends Pick<
  LiveCatalogDeps,
  'askAgain' | 'backends' | 'policies' | 'refreshLists' | 'statusKnown'
> {
  /** The settings that the catalogs were made with. */
  readonly settings: () => LiveCatalogSettings;
  readonly views: (caller: Caller) => CallerView | Promise<CallerView>;
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
  return (
    { names, name, caller, origin }: Pick<Access, 'names' | 'name' | 'caller' | 'origin'>,
    record?: Pick<CallRecord, 'target'>,
  ): Target | Promise<Target> => {
    if (names === 'task') return task(name);
    const table = origin === 'workflow' ? 'routable' : 'offered';
    const find = (catalog: CallerCatalog): Target | undefined => catalog.find(table, names, name);
    const offered = deps.views(caller);
    const found = offered instanceof Promise ? offered.then(find) : find(offered);
    const again = async (): Promise<Target> => {
      // A client may remember names from before a restart, or from another replica: a name is unknown only once no
      // backend's status is `unknown`, and the first check of a backend in a new pod may fail. Nor does every backend
      // notify of new entries. And the user may have signed in since a backend was asked for its lists.
      const refreshed = async () => deps.refreshLists?.(deps.settings().waitForUnknownMs);
      for (const wait of [async () => deps.askAgain?.(caller), known, refreshed]) {
        await wait();
        const target = find(await deps.views(caller));
        if (target) return target;
      }
      const { overlay, findHidden } = await deps.views(caller);
      if (hasPolicies()) {
        if (record) record.target = findHidden(table, names, name);
        throw forbidden();
      }
      return unknown(withOverlay(deps.backends(), overlay), deps.settings(), { names, name });
    };
    return found instanceof Promise ? found.then((target) => target ?? again()) : (found ?? again());
  };
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
  throw new VmcpError('unknown_name', `unknown ${names}`);
};

import type { ApiClient } from '../../operator/api/client.ts';
import type { Cache } from '../../operator/cache/cache.ts';
import type { ReconcileContext } from '../../operator/reconcile-context.ts';
import { ServerMutations } from '../../operator/write/server-mutations.ts';
import { ApplyBackoff } from '../../operator/write/apply-backoff.ts';
import { StatusWriteHistory } from '../../operator/write/status-write-history.ts';
import { DEFAULT_SETTINGS } from './plan/golden.ts';
import { withApplyNew } from './write/apply-new.ts';

type Given = Partial<Omit<ReconcileContext, 'api' | 'cache'>> & {
  readonly api?: Partial<ApiClient>;
  readonly cache?: Partial<Cache>;
};

/**
 * The reconcile context of one test, which gives what it is about; what it does not give throws when it is used, and
 * names itself.
 */
export const reconcileContextOf = ({ api = {}, cache = {}, ...more }: Given): ReconcileContext =>
  onlyGiven<ReconcileContext>('context', {
    settings: DEFAULT_SETTINGS,
    serverMutations: new ServerMutations(),
    statusWrites: new StatusWriteHistory(() => 0),
    applyBackoff: new ApplyBackoff(() => 0),
    plan: (kind, _owner, bundle) => Promise.resolve(kind.plan(bundle, DEFAULT_SETTINGS)),
    now: () => 0,
    ...more,
    api: onlyGiven<ApiClient>('context.api', isWritable(api) ? withApplyNew(api) : api),
    cache: onlyGiven<Cache>('context.cache', cache),
  });

const isWritable = (api: Partial<ApiClient>): api is Partial<ApiClient> & Pick<ApiClient, 'get' | 'apply'> =>
  api.get !== undefined && api.apply !== undefined;

/** Some parts of a whole; the others throw when they are looked at, which is what makes the cast true. */
export const onlyGiven = <Whole extends object>(name: string, given: Partial<Whole>): Whole =>
  new Proxy(given, {
    get: (parts, part, receiver): unknown => {
      if (part in parts) return Reflect.get(parts, part, receiver);
      throw new Error(`the test gives no ${name}.${String(part)}`);
    },
  }) as Whole;

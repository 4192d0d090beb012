import type { Caller } from '../../../runtime/call/caller.ts';
import { buildLiveCatalog, type OfferedBackend, type LiveCatalogSettings } from '../../../runtime/catalog/index.ts';
import type { LiveCatalogDeps } from '../../../runtime/catalog/live-catalog.ts';
import type { ListKind } from '../../../runtime/mcp/lists.ts';
import { atBackend, lists, settings } from './sources.ts';

export const ANYBODY = { kind: 'anonymous' } as const;
export { userOf as user } from '../../fixtures/callers.ts';

export const up = (name: string, given: Parameters<typeof lists>[0]): OfferedBackend => ({
  name,
  status: 'ready',
  lists: lists(given),
});

/** An offer over backends that a test changes. */
export const offerOf = (
  first: readonly OfferedBackend[],
  more: Partial<LiveCatalogDeps> = {},
  changes: Partial<LiveCatalogSettings> = {},
) => {
  let backends = first;
  let current: LiveCatalogSettings = {
    ...settings(),
    partialFailureMode: 'best_effort',
    waitForUnknownMs: 10,
    ...changes,
  };
  const waits: number[] = [];
  const offer = buildLiveCatalog({
    settings: () => current,
    backends: () => backends,
    firstListed: async (timeoutMs) => void waits.push(timeoutMs),
    statusKnown: async (timeoutMs) => void waits.push(timeoutMs),
    ...more,
  });
  const heard: (readonly ListKind[])[] = [];
  offer.onListsChanged((kinds) => heard.push(kinds));
  const change = (newer: readonly OfferedBackend[], newerSettings: Partial<LiveCatalogSettings> = {}): void => {
    backends = newer;
    current = { ...current, ...newerSettings };
    offer.rebuild();
  };
  const names = async (caller: Caller = ANYBODY, kind: 'tools' | 'prompts' = 'tools'): Promise<readonly string[]> => {
    const result = JSON.parse((await offer.list(kind, undefined, caller)).toString()) as Record<
      string,
      { readonly name: string }[]
    >;
    return (result[kind] ?? []).map(({ name }) => name);
  };
  const find = async (name: string, caller: Caller = ANYBODY): Promise<string | undefined> => {
    const target = await offer.lookUp({ names: 'tool', name, caller, origin: 'client' });
    return atBackend(target)?.backend;
  };
  return { offer, change, names, find, heard, waits };
};

import type { Caller } from '../../../runtime/call.ts';
import { makeOffer, type OfferDeps, type OfferedBackend, type OfferSettings } from '../../../runtime/catalog/index.ts';
import type { ListKind } from '../../../runtime/listed.ts';
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
  more: Partial<OfferDeps> = {},
  changes: Partial<OfferSettings> = {},
) => {
  let backends = first;
  let current: OfferSettings = { ...settings(), partialFailureMode: 'best_effort', waitForUnknownMs: 10, ...changes };
  const waits: number[] = [];
  const offer = makeOffer({
    settings: () => current,
    backends: () => backends,
    settled: async (timeoutMs) => void waits.push(timeoutMs),
    known: async (timeoutMs) => void waits.push(timeoutMs),
    ...more,
  });
  const heard: (readonly ListKind[])[] = [];
  offer.onListsChanged((kinds) => heard.push(kinds));
  const change = (newer: readonly OfferedBackend[], newerSettings: Partial<OfferSettings> = {}): void => {
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

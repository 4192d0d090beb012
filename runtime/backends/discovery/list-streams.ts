import type { Caller } from '../../call/index.ts';
import type { ListChange } from '../backend-settings.ts';
import { PROBE } from '../backend-client.ts';
import { ALL_LISTS, type ListeningFor, type ModernStream } from '../stateless/listen.ts';
import type { ListeningUsers } from './listening-users.ts';

export interface ListStreamsDeps {
  readonly listen: (caller: Caller, what: ListeningFor) => ModernStream;
  /** The lists of this caller may have changed. */
  readonly onChange: (caller: Caller, change: ListChange) => void;
}

/**
 * Listens for changed lists at a backend of 2026-07-28 until the returned function is called: as each of the users
 * where the lists differ by user, else once as the gateway.
 */
export const listenForLists = (
  users: Pick<ListeningUsers, 'forEach'> | undefined,
  { listen, onChange }: ListStreamsDeps,
): (() => void) => {
  const told = (caller: Caller) => (): void => onChange(caller, 'told');
  if (!users) return listen(PROBE, { filter: ALL_LISTS, onListChanged: told(PROBE), onGap: told(PROBE) }).stop;
  return users.forEach((caller) => {
    const onBegun = (isFirst: boolean): void => onChange(caller, isFirst ? 'unknown' : 'told');
    return listen(caller, { filter: ALL_LISTS, onListChanged: told(caller), onBegun }).stop;
  });
};

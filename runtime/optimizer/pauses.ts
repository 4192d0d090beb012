import { nextTurn } from '../process/index.ts';

/** Tools that are read, added or removed between two turns of the event loop. */
const AT_ONCE = 32;

/** A function to be awaited after each tool of a long run of work: lets input be read now and then. */
export const pauses = (): (() => Promise<void>) => {
  let left = AT_ONCE;
  return async () => {
    left -= 1;
    if (left > 0) return;
    left = AT_ONCE;
    await nextTurn();
  };
};

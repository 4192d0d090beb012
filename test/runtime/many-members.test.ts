import { describe, test } from 'node:test';
import { inSmallHeap } from '../fixtures/small-heap.ts';

const MODULE = new URL('../fixtures/many-members.ts', import.meta.url);

/** Objects for each of the members would need ten times as much. */
const HEAP_MIB = 24;

describe('a message that is all members takes no memory beside its bytes', () => {
  for (const [what, name] of [
    ['a request for a backend of 2026-07-28', 'requestForModernBackend'],
    ['a request for an earlier backend', 'requestForLegacyBackend'],
    ['a request that is refused', 'envelopes'],
    ['an answer for a client of 2026-07-28', 'answersForModernClient'],
    ['an answer for an earlier client', 'answersForLegacyClient'],
    ['an answer that may be a task', 'tasks'],
    ['questions instead of an answer', 'questions'],
    ['a notification', 'notifications'],
    ['the answer to initialize', 'initialization'],
  ] as const)
    test(what, () => inSmallHeap(MODULE, name, HEAP_MIB));
});

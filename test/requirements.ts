/** Marks the rules (ids of `requirements`) that the test right below proves. A pure marker: the gate reads the literal ids from the source. */
export const covers = (..._ids: readonly [string, ...string[]]): void => {};

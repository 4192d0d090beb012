/**
 * Makes a function that yields to other work. Of concurrent callers one continues in each round of the event loop, so
 * that their work does not add up.
 */
export const yieldsToEventLoop = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return last;
  };
};

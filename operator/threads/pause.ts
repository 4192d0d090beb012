/**
 * Makes a pause that lets everything else which waits have its turn. Of those who pause at once one goes on in each
 * round of the event loop, so that what they do does not add up.
 */
export const pauses = (): (() => Promise<void>) => {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return last;
  };
};

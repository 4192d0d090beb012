/**
 * The command that was just given is on its way; then nothing here runs for so many milliseconds, while its answer and
 * the end of its deadline come.
 */
export const standStill = async (milliseconds: number): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
  for (const startedAt = performance.now(); performance.now() - startedAt < milliseconds;);
};

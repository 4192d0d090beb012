import { after } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

/**
 * A runtime over one backend, called `a`, and a session at it, for the tests of a file. `more` are keys of its file.
 */
export const startEndpoint = async (more: object = {}) => {
  const backend = await startBackend();
  const running = await startRuntime(configFile({ a: backend.url }, more));
  after(async () => {
    await running.stop();
    await backend.close();
  });
  return { backend, running, session: await openSession(running.url) };
};

import { join } from 'node:path';
import { run } from './command.ts';
import { cacheFolder, ensurePrograms } from './programs.ts';

/**
 * Runs Helm, in a cluster when a kubeconfig is given; throws with what it wrote to standard error. Knows no
 * repositories.
 */
export async function helm(args: readonly string[], kubeconfig = '/dev/null'): Promise<string> {
  const programs = await ensurePrograms(['helm']);
  const home = join(cacheFolder(), 'helm-home');
  const folders = {
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
  };
  // It ends before collecting garbage would pay: without, it takes a third less of the processor.
  return run(programs.helm, args, { env: { ...process.env, ...folders, KUBECONFIG: kubeconfig, GOGC: 'off' } });
}

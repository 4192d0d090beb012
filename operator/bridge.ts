import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../runtime/process/index.ts';
import { VERSION } from '../runtime/version.ts';
import { connect } from './api/kubeconfig.ts';
import { BRIDGE_USAGE, bridgeOptions, startBridge } from './bridge/index.ts';
import { createLog } from './observe/log.ts';
import { asksForHelp, type CommandDeps } from './command.ts';

const SESSION_ID_BYTES = 32;

/** `vmcp-operator bridge`: serves until `deps.signal` aborts. The answer is the exit code. */
export const runBridge = async (args: readonly string[], deps: CommandDeps): Promise<number> => {
  if (asksForHelp(args)) {
    deps.stdout(BRIDGE_USAGE);
    return 0;
  }
  const options = bridgeOptions(args, deps.env);
  if ('problem' in options) {
    deps.stderr(`${options.problem}\n\n${BRIDGE_USAGE}`);
    return 2;
  }
  const { pod, container, host, port, allowedHosts } = options;
  const connection = await connect(options.kubeconfig, deps.env);
  const address = { namespace: options.namespace ?? connection.namespace, pod, container };
  const log = createLog(options.logLevel);
  const { origin, stop } = await startBridge(
    { address, host, port, allowedHosts },
    {
      connection,
      clock: systemClock,
      random: () => Math.random(),
      newSessionId: () => randomBytes(SESSION_ID_BYTES).toString('base64url'),
      newCorrelationId: () => randomUUID(),
      version: VERSION,
      log,
    },
  );
  log.info({ url: `${origin}/mcp`, ...address }, 'serving');
  await new Promise<void>((resolve) => {
    deps.signal.addEventListener('abort', () => resolve(), { once: true });
    // Told while it was starting.
    if (deps.signal.aborted) resolve();
  });
  await stop();
  return 0;
};

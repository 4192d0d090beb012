#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads';
import { VERSION } from '../runtime/version.ts';
import { aborted } from './aborted.ts';
import type { CommandDeps } from './command.ts';

const usage = `usage: vmcp-operator run [options]            reconcile a cluster
       vmcp-operator local <dir> [options]    serve the manifests of a directory from this process
       vmcp-operator render <dir> [options]   print what would be applied for them
       vmcp-operator bridge --pod POD         serve the stdio MCP server of a container
       vmcp-operator management-token UID     sign a token for the management port of a server (docs/explain.md)
       vmcp-operator version

Options of run; each is also read from the environment, as VMCP_ and the name in capitals:
  --image IMAGE               the runtime's image (required)
  --bridge-image IMAGE        the operator's, for the pods of stdio servers; default vmcp-operator and the version
  --kubeconfig FILE           default: the pod's own account, else the usual kubeconfig
  --namespaces A,B            watch these only; default: all
  --operator-namespace NAME   holds the Lease and the management key; default: the pod's
  --cluster-domain DOMAIN     default cluster.local
  --trusted-ca CONFIGMAP/KEY  authorities that all servers trust, of a ConfigMap of their namespace; default: none; key: ca.crt
  --health-port PORT          default 8080
  --webhook-configuration N   the ValidatingWebhookConfiguration to answer for; default: none, no webhook
  --webhook-port PORT         default 9443
  --webhook-client-ca FILE    PEM; answer only callers with a certificate of these authorities
  --workers N                 reconciles at once; default 16
  --leader-elect true|false   default true
  --log-level LEVEL           default info
  --dry-run                   write nothing, and log what would be written
`;

/** One subcommand: the answer is the exit code. */
type Command = (args: readonly string[], deps: CommandDeps) => Promise<number>;

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  run: () => Promise.resolve(run),
  render: async () => (await import('./render.ts')).render,
  bridge: async () => (await import('./bridge.ts')).runBridge,
  'management-token': async () => (await import('./management-token.ts')).runManagementToken,
  local: async () => (await import('./local.ts')).runLocal,
  version: () => Promise.resolve(version),
  '--version': () => Promise.resolve(version),
  help: () => Promise.resolve(help),
  '--help': () => Promise.resolve(help),
  '-h': () => Promise.resolve(help),
};

const help: Command = (_args, { stdout }) => {
  stdout(usage);
  return Promise.resolve(0);
};

const version: Command = (_args, { stdout }) => {
  stdout(`${VERSION}\n`);
  return Promise.resolve(0);
};

const run: Command = async (args, deps) => {
  if (args.includes('--help') || args.includes('-h')) return help(args, deps);
  const { runOptions } = await import('./run-options.ts');
  const options = runOptions(args, deps.env);
  if ('problem' in options) {
    deps.stderr(`${options.problem}\n\n${usage}`);
    return 2;
  }
  const [{ runOperator }, { reconciledKinds }, { API_VERSION, kinds }] = await Promise.all([
    import('./run.ts'),
    import('./kinds/index.ts'),
    import('../crds/index.ts'),
  ]);
  const resources = Object.values(kinds).map(({ kind, plural }) => ({ kind, plural, apiVersion: API_VERSION }));
  const running = await runOperator(options, {
    env: deps.env,
    kinds: reconciledKinds(),
    resources,
    threadEntry: new URL(import.meta.url),
  });
  // The signal may have come while it was starting.
  await aborted(deps.signal);
  await running.stop();
  // A connection that is just being made when the API server does not answer would hold the process for ten seconds
  // more.
  setTimeout(() => process.exit(), 500).unref();
  return 0;
};

const main = async (): Promise<number> => {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const deps: CommandDeps = {
    env: process.env,
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    signal: stopping.signal,
  };
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    deps.stderr(name === '' ? usage : `there is no command ${name}\n\n${usage}`);
    return 2;
  }
  try {
    return await (
      await command()
    )(args, deps);
  } catch (error) {
    // An error that reaches this point is about a file, a port or a cluster, which its message names.
    deps.stderr(`vmcp-operator ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
};

if (isMainThread) process.exitCode = await main();
else (await import('./offload/tasks.ts')).serveTasks();

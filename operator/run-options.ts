import { parseArgs } from 'node:util';
import { VERSION } from '../runtime/version.ts';
import { type Environment, listOf, oneOf, trustedCaOf, wholeNumber, withEnvironment } from './flag-values.ts';
import type { RunOptions } from './run.ts';

const flags = {
  image: { type: 'string' },
  'bridge-image': { type: 'string', default: `vmcp-operator:${VERSION}` },
  kubeconfig: { type: 'string' },
  namespaces: { type: 'string', default: '' },
  'operator-namespace': { type: 'string' },
  'cluster-domain': { type: 'string', default: 'cluster.local' },
  'trusted-ca': { type: 'string', default: '' },
  'health-port': { type: 'string', default: '8080' },
  'webhook-configuration': { type: 'string', default: '' },
  'webhook-port': { type: 'string', default: '9443' },
  'webhook-client-ca': { type: 'string', default: '' },
  workers: { type: 'string', default: '16' },
  'leader-elect': { type: 'string', default: 'true' },
  'log-level': { type: 'string', default: 'info' },
  'dry-run': { type: 'boolean', default: false },
} as const;

type Flag = keyof typeof flags;

/** The options of `vmcp-operator run`; a flag wins over its variable (`--health-port`, `VMCP_HEALTH_PORT`). */
export const runOptions = (args: readonly string[], env: Environment): RunOptions | { readonly problem: string } => {
  try {
    const { values } = parseArgs({ args: [...args], options: withEnvironment(flags, env) });
    return optionsOf(values);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
};

type Values = { readonly [name in Exclude<Flag, 'dry-run'>]?: string } & { readonly 'dry-run'?: boolean };

const optionsOf = (values: Values): RunOptions => {
  const image = values.image ?? '';
  if (image === '') {
    throw new Error('the image of the runtime is missing: give --image or set VMCP_IMAGE');
  }
  return {
    ...(values.kubeconfig === undefined ? {} : { kubeconfig: values.kubeconfig }),
    ...(values['operator-namespace'] === undefined ? {} : { operatorNamespace: values['operator-namespace'] }),
    namespaces: listOf(values.namespaces),
    runtimeImage: image,
    bridgeImage: values['bridge-image'] ?? '',
    clusterDomain: values['cluster-domain'] ?? '',
    ...trustedCaOf(values['trusted-ca'] ?? ''),
    healthPort: wholeNumber('--health-port', values['health-port'], 0),
    ...webhookOf(values),
    workers: wholeNumber('--workers', values.workers, 1),
    leaderElection: oneOf('--leader-elect', values['leader-elect'], ['true', 'false']) === 'true',
    logLevel: oneOf('--log-level', values['log-level'], ['debug', 'info', 'warn', 'error']),
    isDryRun: values['dry-run'] === true,
  };
};

/** Off unless a configuration is named. */
const webhookOf = (values: Values): Pick<RunOptions, 'webhook'> => {
  const configuration = values['webhook-configuration'] ?? '';
  const port = wholeNumber('--webhook-port', values['webhook-port'], 0);
  const clientCaFile = values['webhook-client-ca'] ?? '';
  if (configuration === '') return {};
  return { webhook: { configuration, port, drainMs: DRAIN_MS, ...(clientCaFile !== '' && { clientCaFile }) } };
};

/** As long as the runtime goes on serving (docs/decisions.md "Graceful stop"). */
const DRAIN_MS = 5_000;

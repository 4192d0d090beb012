import { parseArgs } from 'node:util';
import { type Environment, listOf, oneOf, wholeNumber, withEnvironment } from '../flag-values.ts';

export const BRIDGE_USAGE = `usage: vmcp-operator bridge --pod POD [options]   serve an MCP server that speaks over its container's standard input and output

Options; each is also read from the environment, as VMCP_ and the name in capitals:
  --pod POD              whose container to attach to (required)
  --container NAME       default mcp
  --namespace NAMESPACE  of the pod; default: the bridge's own
  --kubeconfig FILE      default: the pod's own account, else the usual kubeconfig
  --host HOST            default ::, and 0.0.0.0 where there is no IPv6
  --port PORT            of /mcp, /healthz and /readyz; default 8080
  --allowed-hosts A,B    host names that clients use, beside addresses and localhost
  --log-level LEVEL      default info
`;

export interface BridgeOptions {
  readonly pod: string;
  readonly container: string;
  /** Absent: that of the connection. */
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly host: string;
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly logLevel: string;
}

const flags = {
  pod: { type: 'string' },
  container: { type: 'string', default: 'mcp' },
  namespace: { type: 'string' },
  kubeconfig: { type: 'string' },
  host: { type: 'string', default: '::' },
  port: { type: 'string', default: '8080' },
  'allowed-hosts': { type: 'string', default: '' },
  'log-level': { type: 'string', default: 'info' },
} as const;

/** The options of `vmcp-operator bridge`; a flag wins over its variable. */
export const bridgeOptions = (
  args: readonly string[],
  env: Environment,
): BridgeOptions | { readonly problem: string } => {
  try {
    const { values } = parseArgs({ args: [...args], options: withEnvironment(flags, env) });
    const { pod = '', container, namespace, kubeconfig, host } = values;
    if (pod === '') return { problem: 'whose container? give --pod or set VMCP_POD' };
    return {
      pod,
      container,
      ...(namespace !== undefined && { namespace }),
      ...(kubeconfig !== undefined && { kubeconfig }),
      host,
      port: wholeNumber('--port', values.port, 0),
      allowedHosts: listOf(values['allowed-hosts']),
      logLevel: oneOf('--log-level', values['log-level'], ['debug', 'info', 'warn', 'error']),
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
};

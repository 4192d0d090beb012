import type { KubeObject } from '../../object.ts';
import type { PodTemplate } from '../pod-template.ts';
import type { Child } from '../workload/child.ts';
import { PORT_NAME, deployment, service, serviceAccount } from '../workload/objects.ts';
import { type Variable, secretVariable, variables, workloadTemplate } from '../workload/pod.ts';
import { CONTAINER, type McpServerSpec, TRANSPORT, transportOf } from './spec.ts';

type Value = Readonly<Record<string, unknown>>;

const DEFAULT_PORT = 8080;

/**
 * The container of an MCPServer that speaks HTTP, with the Service and the account that go with it, as `child` names
 * them. Children in the order they are applied.
 */
export const containerObjects = (spec: McpServerSpec, child: Child): readonly KubeObject[] => [
  ...containerAccount(spec, child),
  service(child, spec),
  deployment(child, containerTemplate(spec, child, { container: overHttp(spec) }), spec.replicas),
];

/** spec.serviceAccount; without it one is made. */
export const containerAccount = (spec: McpServerSpec, child: Child): readonly KubeObject[] =>
  spec.serviceAccount === undefined ? [serviceAccount(child)] : [];

/** How the container is spoken to. */
export interface TransportParts {
  /** Fields of the container. */
  readonly container: Value;
  /** Containers of ours beside it. */
  readonly beside?: readonly Value[];
  /** Fields of the pod's spec. */
  readonly pod?: Value;
}

/** Its pods. */
export const containerTemplate = (spec: McpServerSpec, child: Child, way: TransportParts): PodTemplate =>
  workloadTemplate(child, {
    container: {
      name: CONTAINER,
      image: spec.image,
      ...(spec.args !== undefined && spec.args.length > 0 && { args: spec.args }),
      ...variables(transportVariables(spec), spec.env, secretVariables(spec)),
      ...(spec.resources !== undefined && { resources: spec.resources }),
      ...way.container,
    },
    ...(way.beside && { beside: way.beside }),
    more: {
      ...(spec.serviceAccount === undefined
        ? { serviceAccountName: child.name, automountServiceAccountToken: false }
        : // Whether its token is in the pod is for that account to say.
          { serviceAccountName: spec.serviceAccount }),
      ...way.pod,
    },
    patch: spec.podTemplateSpec,
  });

/** Environment variables by which common MCP servers take their transport. */
const transportVariables = (spec: McpServerSpec): readonly Variable[] => {
  const transport = transportOf(spec);
  const port = String(spec.mcpPort ?? DEFAULT_PORT);
  return [
    { name: TRANSPORT, value: transport },
    ...(transport === 'stdio'
      ? []
      : [
          { name: 'MCP_PORT', value: port },
          { name: 'FASTMCP_PORT', value: port },
          { name: 'MCP_HOST', value: '0.0.0.0' },
        ]),
  ];
};

const secretVariables = ({ secrets = [] }: McpServerSpec): readonly Variable[] =>
  secrets.map((secret) => secretVariable(secret.targetEnvName ?? secret.key, secret));

/** An MCP server has no path for health checks: it is up when its port is open. */
const overHttp = ({ mcpPort = DEFAULT_PORT }: McpServerSpec): Value => ({
  ports: [{ name: PORT_NAME, containerPort: mcpPort, protocol: 'TCP' }],
  // Every second until it is up; an image that fetches its packages first may take minutes.
  startupProbe: { ...isOpen(), periodSeconds: 1, failureThreshold: 300 },
  readinessProbe: { ...isOpen(), periodSeconds: 5 },
  livenessProbe: { ...isOpen(), periodSeconds: 10, failureThreshold: 3 },
});

const isOpen = (): Value => ({ tcpSocket: { port: PORT_NAME } });

import type { KubeObject } from '../../object.ts';
import type { Variable } from '../workload/pod.ts';

/** How its container speaks. */
export type Transport = 'stdio' | 'streamable-http' | 'sse';

/** The fields of an MCPServer that `plan` acts on, as the API server or `parseResource` has checked them. */
export interface McpServerSpec {
  readonly image: string;
  readonly transport?: Transport;
  readonly mcpPort?: number;
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly secrets?: readonly { readonly name: string; readonly key: string; readonly targetEnvName?: string }[];
  readonly resources?: Readonly<Record<string, unknown>>;
  readonly replicas?: number;
  readonly serviceAccount?: string;
  readonly sessionAffinity?: 'ClientIP' | 'None';
  /** Free-form: a strategic merge patch over the pod template that is made. */
  readonly podTemplateSpec?: Readonly<Record<string, unknown>>;
  readonly groupRef?: object;
  readonly externalAuthConfigRef?: object;
  readonly oidcConfigRef?: object;
  readonly authzConfig?: object;
  readonly rateLimiting?: object;
  readonly authServerRef?: object;
  readonly sessionStorage?: object;
}

export const mcpServerSpec = (server: KubeObject): McpServerSpec => server['spec'] as McpServerSpec;

/** The schema's default is `stdio`. */
export const transportOf = ({ transport }: McpServerSpec): Transport => transport ?? 'stdio';

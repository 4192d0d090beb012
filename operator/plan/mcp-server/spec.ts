import { type SpecOf, specOf } from '../../../crds/index.ts';
import type { KubeObject } from '../../object.ts';

export type McpServerSpec = SpecOf<'MCPServer'>;

/** How its container speaks. */
export type Transport = NonNullable<McpServerSpec['transport']>;

export const mcpServerSpec = (server: KubeObject): McpServerSpec => specOf('MCPServer', server);

/** The schema's default is `stdio`. */
export const transportOf = ({ transport }: McpServerSpec): Transport => transport ?? 'stdio';

import type { KubeObject } from '../../object.ts';
import type { Child } from '../workload/child.ts';
import { type BridgedDeps, bridgedObjects } from './bridged.ts';
import { containerObjects } from './container.ts';
import type { McpServerSpec } from './spec.ts';
import { isBridged } from './transport.ts';

/** What runs its container, in the order it is applied, as `child` names it. */
export const mcpServerObjects = (spec: McpServerSpec, child: Child, deps: BridgedDeps): readonly KubeObject[] =>
  isBridged(spec) ? bridgedObjects(spec, child, deps) : containerObjects(spec, child);

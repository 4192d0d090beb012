import { operationalSchema } from '../../../runtime/config/index.ts';
import type { KubeObject } from '../../object.ts';
import type { VolatileKeys } from '../plan.ts';
import { serverSpec } from './spec.ts';

/** Decisions "No write without a reason": timestamps, and counters past their threshold. */
export const volatileStatus = (server: KubeObject): VolatileKeys =>
  new Map([
    ['lastHealthCheck', 0],
    ['consecutiveFailures', unhealthyThreshold(server)],
  ]);

const unhealthyThreshold = (server: KubeObject): number => {
  const { failureHandling } = (serverSpec(server).config?.['operational'] ?? {}) as Operational;
  return failureHandling?.unhealthyThreshold ?? DEFAULT;
};

interface Operational {
  readonly failureHandling?: { readonly unhealthyThreshold?: number };
}

const DEFAULT = operationalSchema.parse({}).failureHandling.unhealthyThreshold;

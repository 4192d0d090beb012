import { operationalSchema } from '../../../../runtime/config/index.ts';
import type { KubeObject } from '../../../object.ts';
import type { VolatileKeys } from '../../plan.ts';
import { serverSpec } from '../../server-spec.ts';

/** docs/decisions.md "No write without a reason": timestamps, and counters past their threshold. */
export const volatileStatus = (server: KubeObject): VolatileKeys =>
  new Map([
    ['lastHealthCheck', 0],
    ['consecutiveFailures', unhealthyThreshold(server)],
  ]);

const unhealthyThreshold = (server: KubeObject): number => {
  return serverSpec(server).config?.operational?.failureHandling?.unhealthyThreshold ?? DEFAULT;
};

const DEFAULT = operationalSchema.parse({}).failureHandling.unhealthyThreshold;

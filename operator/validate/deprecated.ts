import type { ResourceProblem } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/** spec: Versioning, "config.telemetry is deprecated for operator deployments". Accepted and honoured; told at admission and by a condition. */
export const deprecatedTelemetry = ({ kind, spec }: KubeObject): readonly ResourceProblem[] => {
  if (kind !== 'VirtualMCPServer') return [];
  const { config, telemetryConfigRef } = spec as {
    readonly config?: { readonly telemetry?: unknown };
    readonly telemetryConfigRef?: unknown;
  };
  if (config?.telemetry === undefined) return [];
  const remedy =
    telemetryConfigRef === undefined
      ? 'make an MCPTelemetryConfig of it and name that in spec.telemetryConfigRef'
      : 'remove it, spec.telemetryConfigRef takes its place';
  return [{ path: 'spec.config.telemetry', reason: 'is deprecated where an operator runs the server', remedy }];
};

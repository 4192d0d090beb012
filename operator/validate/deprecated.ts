import { type ResourceProblem, specOf } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';

/**
 * `config.telemetry`: accepted and honoured; told at admission and by a condition (docs/status.md "VirtualMCPServer").
 */
export const deprecatedTelemetry = (object: KubeObject): readonly ResourceProblem[] => {
  if (object.kind !== 'VirtualMCPServer') return [];
  const { config, telemetryConfigRef } = specOf(object.kind, object);
  if (config?.telemetry === undefined) return [];
  const remedy =
    telemetryConfigRef === undefined
      ? 'make an MCPTelemetryConfig of it and name that in spec.telemetryConfigRef'
      : 'remove it, spec.telemetryConfigRef takes its place';
  return [{ path: 'spec.config.telemetry', reason: 'is deprecated where an operator runs the server', remedy }];
};

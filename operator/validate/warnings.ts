import { type ResourceProblem, type SpecOf, specOf } from '../../crds/index.ts';
import { blockOf, everyStrategy } from '../../runtime/config/index.ts';
import type { KubeObject } from '../object.ts';

/**
 * Header values that stand in the `spec` of a VirtualMCPServer. docs/decisions.md "Literal header values": accepted and
 * rendered; reported at admission and by a condition, also where `spec.outgoingAuth` takes precedence, since the
 * resource and its ConfigMap hold them all the same.
 */
export const literalHeaderValues = ({
  config,
}: Pick<SpecOf<'VirtualMCPServer'>, 'config'>): readonly ResourceProblem[] => {
  const { default: otherwise, backends = {} } = config?.outgoingAuth ?? {};
  const strategies = [
    ['default', otherwise] as const,
    ...Object.entries(backends).map(([name, strategy]) => [`backends.${name}`, strategy] as const),
  ];
  return strategies.flatMap(([place, strategy]) =>
    everyStrategy.flatMap(([name, { literal }]) =>
      literal === undefined || strategy === undefined || blockOf(strategy, name)?.[literal] === undefined
        ? []
        : [{ path: `spec.config.outgoingAuth.${place}.${name}.${literal}`, ...WORDS }],
    ),
  );
};

const WORDS = {
  reason: 'a header value written here can be read by everybody who may read this resource or ConfigMaps',
  remedy: 'put it into a Secret that an MCPExternalAuthConfig refers to, or use headerValueEnv',
} as const;

/**
 * `config.telemetry`: accepted and honoured; reported at admission and by a condition (docs/status.md
 * "VirtualMCPServer").
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

/**
 * Access control that a VirtualMCPServer of type anonymous ignores (accepted, with a warning: docs/decisions.md
 * "Anonymous access").
 */
export const ignoredGuards = ({ incomingAuth }: Partial<SpecOf<'VirtualMCPServer'>>): readonly ResourceProblem[] => {
  const { type, oidcConfigRef, authzConfig } = incomingAuth ?? {};
  if (type !== 'anonymous') return [];
  const at = 'spec.incomingAuth';
  return [
    ...(oidcConfigRef === undefined ? [] : [{ path: `${at}.oidcConfigRef`, ...TOKENS }]),
    ...(authzConfig === undefined ? [] : [{ path: `${at}.authzConfig`, ...POLICIES }]),
  ];
};

const TOKENS = { reason: 'incomingAuth.type anonymous checks no token', remedy: 'set it to oidc' };
const POLICIES = { reason: 'incomingAuth.type anonymous disables all access control', remedy: 'set it to oidc' };

import type { ResourceProblem, SpecOf } from '../../crds/index.ts';
import { blockOf, everyStrategy } from '../../runtime/config/index.ts';

/**
 * Header values that stand in the `spec` of a VirtualMCPServer. docs/decisions.md "Literal header values": accepted and
 * rendered; told at admission and by a condition, also where `spec.outgoingAuth` takes precedence, since the resource
 * and its ConfigMap hold them all the same.
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

import type { ResourceProblem } from '../../crds/index.ts';

interface WithStrategies {
  readonly config?: {
    readonly outgoingAuth?: {
      readonly default?: Strategy;
      readonly backends?: Readonly<Record<string, Strategy>>;
    };
  };
}

interface Strategy {
  readonly headerInjection?: { readonly headerValue?: string };
}

/**
 * Header values that stand in the `spec` of a VirtualMCPServer. Decisions: accepted and rendered; told at admission and by a condition, also
 * where `spec.outgoingAuth` takes precedence, since the resource and its ConfigMap hold them all the same.
 */
export const literalHeaderValues = (spec: object): readonly ResourceProblem[] => {
  const { default: otherwise, backends = {} } = (spec as WithStrategies).config?.outgoingAuth ?? {};
  const strategies = [
    ['default', otherwise] as const,
    ...Object.entries(backends).map(([name, strategy]) => [`backends.${name}`, strategy] as const),
  ];
  return strategies.flatMap(([place, strategy]) =>
    strategy?.headerInjection?.headerValue === undefined
      ? []
      : [{ path: `spec.config.outgoingAuth.${place}.headerInjection.headerValue`, ...WORDS }],
  );
};

const WORDS = {
  reason: 'a header value written here can be read by everybody who may read this resource or ConfigMaps',
  remedy: 'put it into a Secret that an MCPExternalAuthConfig refers to, or use headerValueEnv',
} as const;

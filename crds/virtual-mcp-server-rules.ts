import { rule } from '../runtime/config/index.ts';

interface Limits {
  readonly perUser?: unknown;
  readonly tools?: readonly { readonly perUser?: unknown }[] | undefined;
}

interface Spec {
  readonly incomingAuth: { readonly type: string };
  readonly authServerConfig?: unknown;
  readonly embeddingServerRef?: unknown;
  readonly config?: { readonly optimizer?: unknown; readonly rateLimiting?: Limits | undefined } | undefined;
}

const isAnonymous = ({ incomingAuth }: Spec): boolean => incomingAuth.type === 'anonymous';

const NO_USERS = 'users are known only with incomingAuth.type oidc';
const hasLimits = 'has(self.config) && has(self.config.rateLimiting)';

/**
 * Rules between fields of `spec` (docs/decisions.md "Limits per replica", "The optimizer needs its EmbeddingServer").
 */
export const virtualMcpServerRules = [
  rule<Spec>({
    cel: "!has(self.authServerConfig) || self.incomingAuth.type != 'anonymous'",
    holds: (spec) => spec.authServerConfig === undefined || !isAnonymous(spec),
    reason: 'authServerConfig issues tokens that incomingAuth.type anonymous would not check',
    remedy: 'set incomingAuth.type: oidc with an oidcConfigRef',
    field: 'authServerConfig',
  }),
  rule<Spec>({
    cel: '!has(self.config) || !has(self.config.optimizer) || has(self.embeddingServerRef)',
    holds: ({ config, embeddingServerRef }) => config?.optimizer === undefined || embeddingServerRef !== undefined,
    reason: 'config.optimizer needs embeddingServerRef',
    remedy: 'set embeddingServerRef to an EmbeddingServer of this namespace, or remove config.optimizer',
  }),
  rule<Spec>({
    cel: `!(${hasLimits} && has(self.config.rateLimiting.perUser)) || self.incomingAuth.type != 'anonymous'`,
    holds: (spec) => spec.config?.rateLimiting?.perUser === undefined || !isAnonymous(spec),
    reason: `config.rateLimiting.perUser limits users, and ${NO_USERS}`,
    remedy: 'set incomingAuth.type: oidc, or use config.rateLimiting.shared',
  }),
  rule<Spec>({
    cel: `!(${hasLimits} && has(self.config.rateLimiting.tools)) || self.incomingAuth.type != 'anonymous' || self.config.rateLimiting.tools.all(t, !has(t.perUser))`,
    holds: (spec) =>
      !isAnonymous(spec) || (spec.config?.rateLimiting?.tools ?? []).every(({ perUser }) => perUser === undefined),
    reason: `config.rateLimiting.tools[].perUser limits users, and ${NO_USERS}`,
    remedy: 'set incomingAuth.type: oidc, or use shared of the tool',
  }),
];

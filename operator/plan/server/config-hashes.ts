import { configHash } from '../shared-config.ts';
import type { ServerBundle } from './bundle.ts';
import type { ServerSpec } from './spec.ts';

/** spec: status.oidcConfigHash and status.telemetryConfigHash, each set only while the spec refers to such a configuration. */
export const configHashes = (
  { server, references }: ServerBundle,
  { incomingAuth, telemetryConfigRef }: ServerSpec,
): Readonly<Record<string, string>> => {
  const said = (server['status'] ?? {}) as Readonly<Record<string, unknown>>;
  const hash = (kind: string, ref: { readonly name: string } | undefined, field: string): object => {
    if (ref === undefined) return {};
    const target = references.find((each) => each.kind === kind && each.name === ref.name)?.target;
    // What is lost or broken stays in effect as it was (decisions "Last good spec").
    const known = target === undefined ? said[field] : configHash(target);
    return typeof known === 'string' ? { [field]: known } : {};
  };
  return {
    ...hash('MCPOIDCConfig', incomingAuth.oidcConfigRef, 'oidcConfigHash'),
    ...hash('MCPTelemetryConfig', telemetryConfigRef, 'telemetryConfigHash'),
  };
};

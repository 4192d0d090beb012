import { upstreamsOf } from '../server/config/auth-server.ts';
import type { SpecInput, Value } from '../server/config/part.ts';

/**
 * With an upstream provider, its token is sent on in place of the issued one without being asked for:
 * docs/decisions.md "Runtime in front of a server"
 */
export const upstreamInjection = ({ spec }: SpecInput): Value | undefined => {
  const [providerName] = upstreamsOf(spec);
  return providerName === undefined ? undefined : { type: 'upstream_inject', upstreamInject: { providerName } };
};

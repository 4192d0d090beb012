import { problem } from '../../conditions.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { ServerSpec } from '../../server-spec.ts';
import { originOf } from '../objects/names.ts';
import type { StatusInput } from './status-input.ts';

/**
 * Without `resourceUrl` the server is known by the address of its Service, from which the default `redirectUri` of
 * providers is made (docs/resources.md "VirtualMCPServer").
 */
export const callbackInCluster = ({
  newest: { spec },
  bundle: { server },
  settings,
}: StatusInput): PlannedCondition | undefined => {
  const { authServerConfig, incomingAuth } = spec;
  if (settings.local !== undefined || incomingAuth.oidcConfigRef?.resourceUrl !== undefined) return undefined;
  const byDefault = (authServerConfig?.upstreamProviders ?? []).filter((each) => redirectUriOf(each) === undefined);
  if (byDefault.length === 0) return undefined;
  const names = byDefault.map(({ name }) => name).join(', ');
  const message = `${names}: providers send browsers back to ${originOf(server, settings)}/oauth/callback, which only programs in the cluster reach; set oidcConfigRef.resourceUrl to the address that clients use, or redirectUri of the provider`;
  return problem('CallbackInCluster', 'ServiceAddress', message);
};

type Provider = NonNullable<ServerSpec['authServerConfig']>['upstreamProviders'][number];

const redirectUriOf = ({ oidcConfig, oauth2Config }: Provider): string | undefined =>
  oidcConfig?.redirectUri ?? oauth2Config?.redirectUri;

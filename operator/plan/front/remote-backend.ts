import { specOf } from '../../../crds/index.ts';
import { urlProblem } from '../../validate/backend-url.ts';
import type { BackendConfigEntry } from '../server-spec.ts';
import type { ServerBundle } from '../server/bundle.ts';
import type { PlannedBackend } from '../server/config/backends.ts';
import { headerForward } from '../server/config/header-forward.ts';
import { whyNotContacted } from '../server/config/check-backend.ts';
import { type BackendAuth, authNamed, configNamed } from '../server/config/named-auth.ts';
import type { SpecInput } from '../server/config/part.ts';
import { relayedStrategy } from '../server/config/proxy-auth.ts';
import type { PlanDeps } from '../server/config/render.ts';
import type { Settings } from '../settings.ts';
import { upstreamInjection } from './token-swap.ts';

/** The remote server of an MCPRemoteProxy, as the backend that bears its name. */
export const remoteBackend = (
  { server }: ServerBundle,
  input: SpecInput,
  { settings, contract }: PlanDeps,
): PlannedBackend => {
  const {
    remoteUrl: url,
    transport,
    headerForward: headers,
    externalAuthConfigRef,
  } = specOf('MCPRemoteProxy', { spec: input.written });
  const { name } = server.metadata;
  // A refused URL may hold credentials, so it is not repeated; a violation reports it.
  if (urlProblem(url) !== undefined) return { name };
  const entry: BackendConfigEntry = {
    name,
    url,
    transport: transport ?? 'streamable-http',
    ...(headers && { headerForward: headerForward(headers, settings) }),
  };
  const auth = externalAuthConfigRef && authOf(externalAuthConfigRef.name, input, settings);
  const strategy = externalAuthConfigRef === undefined ? upstreamInjection(input) : auth?.strategy;
  const checked = auth ?? (strategy && { configName: name, strategy });
  const withheld = whyNotContacted({ label: `${server.kind} ${name}`, entry, auth: checked, contract });
  return {
    name,
    url,
    ...(auth && { auth }),
    ...(withheld === undefined ? { entry, ...(strategy && { strategy }) } : { withheld }),
  };
};

const authOf = (configName: string, { spec, references }: SpecInput, settings: Settings): BackendAuth => {
  const known = authNamed(configName, { spec, authConfigs: references, settings });
  const { auth } = configNamed(configName, references);
  // Which provider a token comes from is the business of whoever hands it over.
  return spec.relaysCredentials === true && auth !== undefined
    ? { configName, type: auth.type, strategy: relayedStrategy(auth, settings) }
    : known;
};

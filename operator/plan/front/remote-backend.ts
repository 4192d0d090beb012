import { specOf } from '../../../crds/index.ts';
import { urlProblem } from '../../validate/backend-url.ts';
import type { BackendConfigEntry } from '../server-spec.ts';
import type { ServerBundle } from '../server/bundle.ts';
import { authNamed } from '../server/config/backend-auth.ts';
import type { PlannedBackend } from '../server/config/backends.ts';
import { headerForward } from '../server/config/header-forward.ts';
import { whyNotContacted } from '../server/config/check-backend.ts';
import type { SpecInput } from '../server/config/part.ts';
import type { PlanDeps } from '../server/config/render.ts';

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
  const known = { spec: input.spec, authConfigs: input.references, settings };
  const auth = externalAuthConfigRef && authNamed(externalAuthConfigRef.name, known);
  const withheld = whyNotContacted({ label: `${server.kind} ${name}`, entry, auth, contract });
  return {
    name,
    url,
    ...(auth && { auth }),
    ...(withheld === undefined ? { entry, ...(auth?.strategy && { strategy: auth.strategy }) } : { withheld }),
  };
};

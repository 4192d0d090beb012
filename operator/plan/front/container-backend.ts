import type { KubeObject } from '../../object.ts';
import { mcpServerSpec } from '../mcp-server/spec.ts';
import { pathServed, urlAt } from '../mcp-server/way.ts';
import { upstreamsOf } from '../server/auth-server.ts';
import type { PlannedBackend } from '../server/backends.ts';
import type { ServerBundle } from '../server/bundle.ts';
import { type Withheld, whyNotContacted } from '../server/judge-backend.ts';
import type { SpecInput, Value } from '../server/part.ts';
import type { PlanDeps } from '../server/render.ts';
import type { BackendConfigEntry } from '../server/spec.ts';
import { childOf } from '../workload/child.ts';

/** The container of an MCPServer, as the backend that bears its name. */
export const containerBackend = (
  { server, behind, strangerBehind }: ServerBundle,
  input: SpecInput,
  { settings, contract }: PlanDeps,
): PlannedBackend => {
  const { name } = server.metadata;
  const path = pathServed(behind?.controller, mcpServerSpec({ ...server, spec: input.written }));
  const url = urlAt(childOf(server, 'backend'), path, settings);
  const entry: BackendConfigEntry = { name, url, transport: path === '/sse' ? 'sse' : 'streamable-http' };
  const strategy = swap(input);
  const auth = strategy && { configName: name, strategy };
  const label = `${server.kind} ${name}`;
  const withheld = serviceTaken(label, strangerBehind) ?? whyNotContacted({ label, entry, auth, contract });
  return { name, url, ...(withheld === undefined ? { entry, ...(strategy && { strategy }) } : { withheld }) };
};

/** Decisions "Names": of MCPServers `a` and `a-backend` the one's container would be called as the other; calls and tokens are not for that. */
const serviceTaken = (label: string, stranger: KubeObject | undefined): Withheld | undefined => {
  if (stranger === undefined) return undefined;
  const { name, ownerReferences = [] } = stranger.metadata;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const whose = owner === undefined ? 'is not its own' : `belongs to ${owner.kind} ${owner.name}`;
  const message = `${label}: Service ${name}, which would lead to its container, ${whose}; give one of them another name`;
  return { reason: 'ServiceTaken', message };
};

/** spec: Outgoing, "For a single-upstream `MCPServer`, the token swap is automatic". */
const swap = ({ spec }: SpecInput): Value | undefined => {
  const [providerName] = upstreamsOf(spec);
  return providerName === undefined ? undefined : { type: 'upstream_inject', upstreamInject: { providerName } };
};

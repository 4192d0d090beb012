import { transportOf as transportOfServer, mcpServerSpec } from '../mcp-server/spec.ts';
import { upstreamsOf } from '../server/auth-server.ts';
import type { PlannedBackend } from '../server/backends.ts';
import type { ServerBundle } from '../server/bundle.ts';
import { whyNotContacted } from '../server/judge-backend.ts';
import type { SpecInput, Value } from '../server/part.ts';
import type { PlanDeps } from '../server/render.ts';
import type { BackendConfigEntry } from '../server/spec.ts';
import { childOf, originOfChild } from '../workload/child.ts';

/** The container of an MCPServer, as the backend that bears its name. */
export const containerBackend = (
  { server }: ServerBundle,
  input: SpecInput,
  { settings, contract }: PlanDeps,
): PlannedBackend => {
  const { name } = server.metadata;
  const isSse = transportOfServer(mcpServerSpec({ ...server, spec: input.written })) === 'sse';
  const url = `${originOfChild(childOf(server, 'backend'), settings)}${isSse ? '/sse' : '/mcp'}`;
  const entry: BackendConfigEntry = { name, url, transport: isSse ? 'sse' : 'streamable-http' };
  const strategy = swap(input);
  const auth = strategy && { configName: name, strategy };
  const withheld = whyNotContacted({ label: `${server.kind} ${name}`, entry, auth, contract });
  return { name, url, ...(withheld === undefined ? { entry, ...(strategy && { strategy }) } : { withheld }) };
};

/** spec: Outgoing, "For a single-upstream `MCPServer`, the token swap is automatic". */
const swap = ({ spec }: SpecInput): Value | undefined => {
  const [providerName] = upstreamsOf(spec);
  return providerName === undefined ? undefined : { type: 'upstream_inject', upstreamInject: { providerName } };
};

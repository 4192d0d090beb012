import { mcpServerSpec, pathServed, urlAt } from '../mcp-server/spec.ts';
import type { BackendConfigEntry } from '../server-spec.ts';
import type { ServerBundle } from '../server/bundle.ts';
import type { PlannedBackend } from '../server/config/backends.ts';
import { serviceTaken, whyNotContacted } from '../server/config/check-backend.ts';
import type { SpecInput } from '../server/config/part.ts';
import type { PlanDeps } from '../server/config/render.ts';
import { childOf } from '../workload/child.ts';
import { upstreamInjection } from './token-swap.ts';

/** The container of an MCPServer, as the backend that bears its name. */
export const containerBackend = (
  { server, backendWorkload, foreignServices }: ServerBundle,
  input: SpecInput,
  { settings, contract }: PlanDeps,
): PlannedBackend => {
  const { name } = server.metadata;
  const path = pathServed(backendWorkload?.controller, mcpServerSpec({ ...server, spec: input.written }));
  const child = childOf(server, 'backend');
  const url = urlAt(child, path, settings);
  const entry: BackendConfigEntry = { name, url, transport: path === '/sse' ? 'sse' : 'streamable-http' };
  const strategy = upstreamInjection(input);
  const auth = strategy && { configName: name, strategy };
  const label = `${server.kind} ${name}`;
  const withheld =
    serviceTaken(label, child.name, foreignServices) ?? whyNotContacted({ label, entry, auth, contract });
  return { name, url, ...(withheld === undefined ? { entry, ...(strategy && { strategy }) } : { withheld }) };
};

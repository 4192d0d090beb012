import { createHash } from 'node:crypto';
import type { Attributes } from '@opentelemetry/api';
import {
  type BackendTarget,
  type Call,
  errorIn,
  methodOf,
  type Reply,
  type RequestRecord,
  shownName,
  type StepState,
  type WorkflowStep,
} from '../../call/index.ts';
import { asVmcpError } from '../../errors.ts';
import { readString } from '../../json/index.ts';
import { CLIENT_METHODS, LEGACY_REVISIONS, MODERN_REVISION } from '../../mcp/index.ts';
import { clipped } from '../../text.ts';

/** What every span has, and how attributes are named. */
export interface SpanSettings {
  /** Attributes of every span: the named variables of the environment. */
  readonly common: Attributes;
  readonly serverName: string;
  /** docs/telemetry.md "Legacy attributes" */
  readonly hasLegacyNames: boolean;
}

const MAX_CHARACTERS = 256;

/** Of a span: what it is called, and its attributes, which are needed only where the span is recorded. */
export interface SpanFacts {
  readonly name: string;
  readonly attributes: () => Attributes;
}

/** The span of a client's request (OpenTelemetry, "Semantic conventions for Model Context Protocol", "Server"). */
export const serverSpan = (record: RequestRecord, settings: SpanSettings): SpanFacts => {
  const { request, message } = record;
  const called = message?.kind === 'call' ? message.call : undefined;
  const method = message && CLIENT_METHODS.has(methodOf(message)) ? methodOf(message) : undefined;
  const path = `/${request.endpoint}`;
  return {
    name: nameOf(method ?? `${request.http} ${path}`, called),
    attributes: () => {
      const id = message?.id && textOf(message.id);
      const known = { method, id: id === 'null' ? undefined : id, called, path };
      return {
        ...serverAttributes(known, record, settings),
        ...(settings.hasLegacyNames && legacyServerAttributes(known, record, settings)),
      };
    },
  };
};

const serverAttributes = (
  { method, id, called, path }: Known,
  { request }: RequestRecord,
  { common }: SpanSettings,
): Attributes => {
  const { 'mcp-protocol-version': revision } = request.headers;
  return {
    ...common,
    ...(method !== undefined && { 'mcp.method.name': method }),
    ...(id !== undefined && { 'jsonrpc.request.id': id }),
    ...(called && targetAttributes(called)),
    ...(request.sessionId !== undefined && { 'mcp.session.id': imageOf(request.sessionId) }),
    ...(isRevision(revision) && { 'mcp.protocol.version': revision }),
    'network.protocol.name': 'http',
    'network.transport': 'tcp',
    'http.request.method': request.http,
    'url.path': path,
    ...(request.clientAddress !== undefined && { 'client.address': request.clientAddress }),
  };
};

interface Known {
  readonly method: string | undefined;
  readonly id: string | undefined;
  readonly called: Call | undefined;
  readonly path: string;
}

const legacyServerAttributes = (
  { method, id, called, path }: Known,
  { request }: RequestRecord,
  { serverName }: SpanSettings,
): Attributes => ({
  'http.method': request.http,
  'http.target': path,
  ...userAgentOf(request),
  'mcp.server.name': serverName,
  'mcp.transport': request.endpoint === 'mcp' ? 'streamable-http' : 'sse',
  'rpc.system': 'jsonrpc',
  'rpc.service': 'mcp',
  ...(method !== undefined && { 'mcp.method': method }),
  ...(id !== undefined && { 'mcp.request.id': id }),
  ...(called?.names === 'tool' && { 'mcp.tool.name': clipped(called.name, MAX_CHARACTERS) }),
  ...(called?.names === 'prompt' && { 'mcp.prompt.name': clipped(called.name, MAX_CHARACTERS) }),
  ...(called?.names === 'resource' && { 'mcp.resource.uri': clipped(called.name, MAX_CHARACTERS) }),
  ...(called && { 'mcp.resource.id': clipped(shownName(called), MAX_CHARACTERS) }),
});

const userAgentOf = ({ headers: { 'user-agent': agent } }: RequestRecord['request']): Attributes =>
  agent === undefined ? {} : { 'http.user_agent': clipped(agent, MAX_CHARACTERS) };

/** The span of a call that a composite tool or the optimizer makes. */
export const innerSpan = (call: Call, { common }: SpanSettings): SpanFacts => ({
  name: nameOf(call.method, call),
  attributes: () => ({
    ...common,
    'mcp.method.name': call.method,
    'vmcp.call.origin': call.origin,
    ...targetAttributes(call),
  }),
});

/** The span of a step of a composite tool. Names are those of the configuration. */
export const stepSpan = ({ workflow, id, type }: WorkflowStep, { common }: SpanSettings): SpanFacts => ({
  name: `workflow step ${clipped(id, MAX_CHARACTERS)}`,
  attributes: () => ({
    ...common,
    'vmcp.workflow.name': clipped(workflow, MAX_CHARACTERS),
    'vmcp.workflow.step.id': clipped(id, MAX_CHARACTERS),
    'vmcp.workflow.step.type': type,
  }),
});

/** What the end of a step brings. */
export const stepAttributes = (state: StepState): Attributes => ({ 'vmcp.workflow.step.status': state });

/** `error.type` of a step after whose failure the workflow goes on. */
export const STEP_FAILED = 'step_failed';

/** The span of a call to a backend (OpenTelemetry, "Semantic conventions for Model Context Protocol", "Client"). */
export const clientSpan = (call: Call, { backend, ownName }: BackendTarget, settings: SpanSettings): SpanFacts => {
  const { method, names } = call;
  const sent = { method, names, name: readString(ownName, { start: 0, end: ownName.length }) };
  return {
    name: nameOf(method, sent),
    attributes: () => ({
      ...settings.common,
      'mcp.method.name': method,
      'jsonrpc.request.id': textOf(call.request.id),
      'vmcp.backend.name': backend,
      'network.protocol.name': 'http',
      'network.transport': 'tcp',
      ...targetAttributes(sent),
      ...(settings.hasLegacyNames && legacyClientAttributes(sent, backend)),
    }),
  };
};

const legacyClientAttributes = ({ method, names, name }: Pick<Call, 'method' | 'names' | 'name'>, backend: string) => ({
  'target.workload_name': backend,
  action: method,
  ...(names === 'tool' && { tool_name: clipped(name, MAX_CHARACTERS) }),
  ...(names === 'prompt' && { prompt_name: clipped(name, MAX_CHARACTERS) }),
  ...(names === 'resource' && { resource_uri: clipped(name, MAX_CHARACTERS) }),
});

/** Attributes that the end of a request brings. */
export const answerAttributes = (reply: Reply, settings: SpanSettings): Attributes => {
  const status = reply.kind === 'whole' ? reply.status : 200;
  return {
    'http.response.status_code': status,
    ...(settings.hasLegacyNames && { 'http.status_code': status }),
  };
};

/** `error.type` of an answer; undefined where it is no failure. */
export const errorOfReply = (reply: Reply, isCall: boolean): string | undefined => {
  if (reply.kind !== 'whole') return undefined;
  if (reply.refusal) return reply.refusal.code;
  return isCall && reply.body ? errorIn(reply.body) : undefined;
};

export const errorOfThrown = (thrown: unknown): string => asVmcpError(thrown).code;

/** JSON-RPC codes are attributes of their own. */
export const errorAttributes = (error: string): Attributes => ({
  'error.type': error,
  ...(/^-?\d+$/.test(error) && { 'rpc.response.status_code': error }),
});

const targetAttributes = ({ names, name, method }: Pick<Call, 'names' | 'name' | 'method'>): Attributes => {
  const shown = clipped(name, MAX_CHARACTERS);
  if (names === 'tool') return { 'gen_ai.tool.name': shown, ...(method === 'tools/call' && EXECUTE_TOOL) };
  if (names === 'prompt') return { 'gen_ai.prompt.name': shown };
  return names === 'resource' ? { 'mcp.resource.uri': shown } : {};
};

const EXECUTE_TOOL = { 'gen_ai.operation.name': 'execute_tool' };

/** URIs and ids of tasks are too many for names. */
const nameOf = (method: string, called: Pick<Call, 'names' | 'name'> | undefined): string =>
  called?.names === 'tool' || called?.names === 'prompt' ? `${method} ${clipped(called.name, MAX_CHARACTERS)}` : method;

/** An id (JSON text) as text. */
const textOf = (id: Buffer): string => clipped(id.toString().replace(/^"(.*)"$/s, '$1'), MAX_CHARACTERS);

/** Who knows the id of an anonymous session may act in it, so spans have an image that leads nowhere. */
const imageOf = (sessionId: string): string =>
  createHash('sha256').update(sessionId).digest('hex').slice(0, IMAGE_DIGITS);

const IMAGE_DIGITS = 16;

const isRevision = (revision: unknown): boolean =>
  revision === MODERN_REVISION || LEGACY_REVISIONS.some((each) => each === revision);

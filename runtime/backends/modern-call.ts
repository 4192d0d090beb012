import type { Call } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { readString } from '../json-bytes.ts';
import { memberAt } from '../json-members.ts';
import type { ListedItem } from '../listed.ts';
import { METHODS_WITH_NAME } from '../mcp-header-text.ts';
import type { Fetch } from '../outgoing/index.ts';
import { answersOf, legacyResponse, outcomeOf, withAnswers } from './input-required.ts';
import type { ModernLink } from './modern-link.ts';
import { paramHeaders } from './param-headers.ts';
import { modernRequest } from './request-edits.ts';
import { withOurTaskIds } from './task-results.ts';

export interface ModernCallDeps {
  readonly backend: string;
  readonly link: ModernLink;
  /** JSON text. */
  readonly clientInfo: string;
  readonly silenceMs: number;
  readonly fetch: Fetch;
  /** The tool as the backend lists it. */
  readonly tool: (ownName: string) => ListedItem | undefined;
}

/** Rounds of questions that one call of an earlier client is taken through. */
const MAX_ROUNDS = 16;

/** A client's call at a backend of 2026-07-28, with the answer in the form of the client's own revision. */
export const callModern = async (call: Call, ownName: Buffer, deps: ModernCallDeps): Promise<Buffer> => {
  const bytes = modernRequest(call, ownName, deps);
  const send = senderOf(call, ownName, deps);
  // Who knows this revision answers the backend's questions itself.
  if (call.client.era === 'modern') return withOurTaskIds(await send(bytes, call.request.id), call, deps.backend);
  return inRounds(call, bytes, { ...deps, send });
};

type Send = (bytes: Buffer, id: Buffer) => Promise<Buffer>;

const senderOf = (call: Call, ownName: Buffer, { link, silenceMs, fetch, tool }: ModernCallDeps): Send => {
  const name = readString(ownName, { start: 0, end: ownName.length });
  const listed = call.method === 'tools/call' ? tool(name) : undefined;
  const common = {
    method: call.method,
    ...(METHODS_WITH_NAME.has(call.method) && { name }),
    paramHeaders: listed ? paramHeaders(listed, () => argumentsOf(call)) : [],
    silenceMs,
    signal: call.signal,
    client: call.client,
    fetch,
  };
  return (bytes, id) => link.request({ ...common, bytes, id });
};

/** JSON text of `params.arguments`. */
export const argumentsOf = ({ request: { bytes, params } }: Call): Buffer | undefined => {
  const span = params && memberAt(bytes, params.start, 'arguments');
  return span && bytes.subarray(span.start, span.end);
};

/** Asks the client what the backend wants to know, and goes back to the backend with the answers, until there is a result. */
const inRounds = async (
  { request, client, signal }: Call,
  first: Buffer,
  { backend, send }: ModernCallDeps & { readonly send: Send },
): Promise<Buffer> => {
  let response = await send(first, request.id);
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const outcome = outcomeOf(response);
    if (outcome.kind === 'final') return legacyResponse(response, request.id);
    if (outcome.kind === 'other') break;
    const id = Buffer.from(`"vmcp-round-${round}"`);
    const answers = await answersOf(response, outcome.requests, client, signal);
    response = await send(withAnswers(first, { id, answers, state: outcome.state }), id);
  }
  throw new VmcpError(
    'backend_unavailable',
    `backend "${backend}" gave a result that this client's revision does not know`,
  );
};

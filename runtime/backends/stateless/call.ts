import { type BackendTarget, type Call, argumentsOf } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { readString, type SentText, wholeOf } from '../../json/index.ts';
import { METHODS_WITH_NAME } from '../../mcp/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import { answersOf, legacyResponse, outcomeOf, withAnswers } from './input-required.ts';
import type { StatelessClient } from './stateless-client.ts';
import { paramHeaders } from './param-headers.ts';
import { type HopMeta, modernRequest } from '../messages/request-edits.ts';
import { withOurTaskIds } from './task-results.ts';

export interface ModernCallDeps {
  readonly backend: string;
  readonly link: StatelessClient;
  readonly meta: HopMeta;
  readonly idleTimeoutMs: number;
  readonly fetch: Fetch;
}

/** Rounds of questions in one call of a client of an earlier revision. */
const MAX_ROUNDS = 16;

/** A client's call at a backend of 2026-07-28, with the answer in the form of the client's own revision. */
export const callModern = async (call: Call, target: BackendTarget, deps: ModernCallDeps): Promise<Buffer> => {
  const bytes = modernRequest(call, target.ownName, deps.meta);
  const send = senderOf(call, target, deps);
  // A client of this revision answers the backend's questions itself, unless it is a step of a workflow that asks.
  if (call.client.era === 'modern' && call.origin !== 'workflow')
    return withOurTaskIds(await send(bytes, call.request.id), call, deps.backend);
  return inRounds(call, bytes, { ...deps, send });
};

type Send = (bytes: SentText, id: Buffer) => Promise<Buffer>;

const senderOf = (
  call: Call,
  { ownName, listed }: BackendTarget,
  { link, idleTimeoutMs, fetch }: ModernCallDeps,
): Send => {
  const name = readString(ownName, { start: 0, end: ownName.length });
  const isTool = call.method === 'tools/call';
  const common = {
    method: call.method,
    ...(METHODS_WITH_NAME.has(call.method) && { name }),
    paramHeaders: isTool && listed ? paramHeaders(listed, () => argumentsOf(call.request)) : [],
    idleTimeoutMs,
    signal: call.signal,
    client: call.client,
    fetch,
  };
  return (bytes, id) => link.request({ ...common, bytes, id });
};

/** Sends the backend's questions to the client and the answers to the backend, until there is a result. */
const inRounds = async (
  { request, client, signal }: Call,
  first: SentText,
  { backend, send }: ModernCallDeps & { readonly send: Send },
): Promise<Buffer> => {
  let response = await send(first, request.id);
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const outcome = outcomeOf(response);
    if (outcome.kind === 'final') return legacyResponse(response, request.id);
    if (outcome.kind === 'other') break;
    const id = Buffer.from(`"vmcp-round-${round}"`);
    const answers = await answersOf(response, outcome.requests, client, signal);
    response = await send(withAnswers(wholeOf(first), { id, answers, state: outcome.state }), id);
  }
  throw new VmcpError(
    'backend_unavailable',
    `backend "${backend}" gave a result that this client's revision does not know`,
  );
};

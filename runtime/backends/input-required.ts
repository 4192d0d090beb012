import type { CallClient, ClientAnswer } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { isObject, readString, skipSpace, type Span } from '../json-bytes.ts';
import { memberAt, membersOf, replacedMember, withMembers, withoutMembers } from '../json-members.ts';
import { RESERVED_PREFIX } from '../revisions.ts';

/** What a result of 2026-07-28 is: final, or questions that must be answered first (MCP "Multi Round-Trip Requests"). */
export type ModernOutcome =
  | { readonly kind: 'final' }
  | { readonly kind: 'input'; readonly requests: Span | undefined; readonly state: Buffer | undefined }
  | { readonly kind: 'other'; readonly resultType: string };

/** Of a whole response; an error is final, too. */
export const outcomeOf = (response: Buffer): ModernOutcome => {
  const result = memberAt(response, skipSpace(response, 0), 'result');
  if (!result || !isObject(response, result.start)) return { kind: 'final' };
  const type = memberAt(response, result.start, 'resultType');
  const resultType = type ? readString(response, type) : 'complete';
  if (resultType === 'complete') return { kind: 'final' };
  if (resultType !== 'input_required') return { kind: 'other', resultType };
  const state = memberAt(response, result.start, 'requestState');
  return {
    kind: 'input',
    requests: memberAt(response, result.start, 'inputRequests'),
    state: state && response.subarray(state.start, state.end),
  };
};

/** JSON text of `inputResponses`: what the client of an earlier revision answers when it is asked one by one. */
export const answersOf = async (
  response: Buffer,
  requests: Span | undefined,
  { ask }: Pick<CallClient, 'ask'>,
  signal: AbortSignal,
): Promise<Buffer> => {
  if (!requests || !isObject(response, requests.start)) return Buffer.from('{}');
  const questions = membersOf(response, requests.start);
  if (questions.length > MAX_QUESTIONS) throw new VmcpError('backend_unavailable', 'the backend asks too much at once');
  const answers = await Promise.all(
    questions.map(async ({ key, value }) => {
      const method = memberAt(response, value.start, 'method');
      const params = memberAt(response, value.start, 'params');
      const asked = ask(
        method ? readString(response, method) : '',
        params && response.subarray(params.start, params.end),
        signal,
      );
      return `${JSON.stringify(key)}:${resultIn(await asked)}`;
    }),
  );
  return Buffer.from(`{${answers.join(',')}}`);
};

const MAX_QUESTIONS = 32;

const resultIn = (answer: ClientAnswer): string => {
  if (answer.kind === 'result') return answer.result.toString();
  throw new VmcpError('client_cannot_answer', 'the client answered a question of the backend with an error');
};

/** The request once more, under a new id, with answers and state. `request` has an id, and params that are an object. */
export const withAnswers = (
  request: Buffer,
  { id, answers, state }: { readonly id: Buffer; readonly answers: Buffer; readonly state: Buffer | undefined },
): Buffer => {
  const added = [`"inputResponses":${answers.toString()}`, ...(state ? [`"requestState":${state.toString()}`] : [])];
  const again = replacedMember(request, 'params', (params) =>
    withMembers(
      withoutMembers(params, (key) => ROUND.has(key)),
      added,
    ),
  );
  return replacedMember(again, 'id', () => id);
};

const ROUND: ReadonlySet<string> = new Set(['inputResponses', 'requestState']);

/** A final response as revisions before 2026-07-28 have it, under the id that their client knows. */
export const legacyResponse = (response: Buffer, id: Buffer): Buffer =>
  replacedMember(
    replacedMember(response, 'result', (result) => (isObject(result, 0) ? legacyResult(result) : result)),
    'id',
    () => id,
  );

const legacyResult = (result: Buffer): Buffer => {
  const meta = memberAt(result, 0, '_meta');
  const isEmpty =
    meta !== undefined &&
    isObject(result, meta.start) &&
    membersOf(result, meta.start).every(({ key }) => key.startsWith(RESERVED_PREFIX));
  const kept = withoutMembers(result, (key) => NEWER.has(key) || (isEmpty && key === '_meta'));
  return replacedMember(kept, '_meta', (value) =>
    isObject(value, 0) ? withoutMembers(value, (key) => key.startsWith(RESERVED_PREFIX)) : value,
  );
};

const NEWER: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

import type { CallClient, ClientAnswer } from '../../call/index.ts';
import type { CancelSignal } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import {
  isEmptyObject,
  isObject,
  readString,
  skipSpace,
  skipValue,
  splice,
  walkObject,
  type Span,
  memberAt,
  replacedMember,
  withMembers,
  withoutMembers,
  type KeyTest,
  isText,
} from '../../json/index.ts';
import { isRoundMember, isReserved } from '../messages/request-edits.ts';

/**
 * What a result of 2026-07-28 is: final, or questions that must be answered first (MCP "Multi Round-Trip Requests").
 */
export type ModernOutcome =
  | { readonly kind: 'final' }
  | { readonly kind: 'input'; readonly requests: Span | undefined; readonly state: Buffer | undefined }
  | { readonly kind: 'other' };

/** The outcome of a whole response; an error is final, too. */
export const outcomeOf = (response: Buffer): ModernOutcome => {
  const result = memberAt(response, skipSpace(response, 0), 'result');
  if (!result || !isObject(response, result.start)) return { kind: 'final' };
  const type = memberAt(response, result.start, 'resultType');
  if (!type || isText(response, type.start, 'complete')) return { kind: 'final' };
  if (!isText(response, type.start, 'input_required')) return { kind: 'other' };
  const state = memberAt(response, result.start, 'requestState');
  return {
    kind: 'input',
    requests: memberAt(response, result.start, 'inputRequests'),
    state: state && response.subarray(state.start, state.end),
  };
};

/**
 * JSON text of `inputResponses`: the answers of a client of an earlier revision, which gets the questions as single
 * requests.
 */
export const answersOf = async (
  response: Buffer,
  requests: Span | undefined,
  client: Pick<CallClient, 'ask'>,
  signal: CancelSignal,
): Promise<Buffer> => {
  if (!requests || !isObject(response, requests.start)) return Buffer.from('{}');
  const questions = questionsIn(response, requests.start);
  const answers = await Promise.all(
    questions.map(async ({ key, at }) => {
      const method = memberAt(response, at, 'method');
      const params = memberAt(response, at, 'params');
      const question = {
        method: method ? readString(response, method) : '',
        params: params && response.subarray(params.start, params.end),
      };
      const asked = client.ask(question, signal);
      return `${key}:${resultIn(await asked)}`;
    }),
  );
  return Buffer.from(`{${answers.join(',')}}`);
};

const MAX_QUESTIONS = 32;

/** JSON text of the key of each question, and where the question lies. */
const questionsIn = (response: Buffer, at: number): readonly { readonly key: string; readonly at: number }[] => {
  const questions: { key: string; at: number }[] = [];
  walkObject(response, at, (keyAt, keyEnd, valueAt) => {
    if (questions.length === MAX_QUESTIONS)
      throw new VmcpError('backend_unavailable', 'the backend asks too much at once');
    questions.push({ key: response.toString('utf8', keyAt, keyEnd), at: valueAt });
    return skipValue(response, valueAt);
  });
  return questions;
};

const resultIn = (answer: ClientAnswer): string => {
  if (answer.kind === 'result') return answer.result.toString();
  throw new VmcpError('client_cannot_answer', 'the client answered a question of the backend with an error');
};

/**
 * The request once more, under a new id, with answers and state. `request` has an id, and params that are an object.
 */
export const withAnswers = (
  request: Buffer,
  { id, answers, state }: { readonly id: Buffer; readonly answers: Buffer; readonly state: Buffer | undefined },
): Buffer => {
  const added = [`"inputResponses":${answers.toString()}`, ...(state ? [`"requestState":${state.toString()}`] : [])];
  const again = replacedMember(request, 'params', (params) =>
    withMembers(withoutMembers(params, isRoundMember), added),
  );
  return replacedMember(again, 'id', () => id);
};

/** A final response as revisions before 2026-07-28 have it, under the id that their client knows. */
export const legacyResponse = (response: Buffer, id: Buffer): Buffer =>
  replacedMember(
    replacedMember(response, 'result', (result) => (isObject(result, 0) ? legacyResult(result) : result)),
    'id',
    () => id,
  );

const legacyResult = (result: Buffer): Buffer => {
  const older = withoutMembers(result, isNewer);
  const meta = memberAt(older, 0, '_meta');
  if (!meta || !isObject(older, meta.start)) return older;
  const kept = withoutMembers(older.subarray(meta.start, meta.end), isReserved);
  if (isEmptyObject(kept, 0)) return withoutMembers(older, isMeta);
  return splice(older, meta, kept);
};

const isNewer: KeyTest = (bytes, keyAt) =>
  isText(bytes, keyAt, 'resultType') || isText(bytes, keyAt, 'ttlMs') || isText(bytes, keyAt, 'cacheScope');

const isMeta: KeyTest = (bytes, keyAt) => isText(bytes, keyAt, '_meta');

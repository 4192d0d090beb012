import { memberAt, skipSpace } from '../json/index.ts';

/** The error that an answer tells of: `tool_error` for a tool's result with `isError`, else the JSON-RPC error code. */
export type AnswerError = 'tool_error' | `${number}`;

/** Bytes at either end of an answer that are searched; long answers are data, and error texts are short. */
const WINDOW_BYTES = 4 * 1024;
/** Before the `error` of a JSON-RPC response are its revision and its id. */
const ERROR_BYTES = 256;
/** Answers up to this size are read to be sure. */
const READ_BYTES = 64 * 1024;

/**
 * The error in a JSON-RPC response (MCP, `CallToolResult.isError`; JSON-RPC 2.0 §5.1), found without parsing all of it,
 * for observers. An `isError` that is more than 4 KiB away from both ends is not found.
 */
export const errorIn = (body: Buffer): AnswerError | undefined => {
  const isShort = body.length <= 2 * WINDOW_BYTES;
  const head = isShort ? body : body.subarray(0, WINDOW_BYTES);
  // The usual answer has not even what both texts have in common.
  if (isShort && !head.includes(IN_BOTH)) return undefined;
  if (head.subarray(0, ERROR_BYTES).includes('"error"')) {
    const found = JSON_RPC_ERROR.exec(head.toString('latin1'));
    if (found) return (found[1] ?? UNKNOWN_CODE) as AnswerError;
  }
  const isSuspect = hasTrueIsError(head) || (!isShort && hasTrueIsError(body.subarray(-WINDOW_BYTES)));
  return isSuspect ? toolErrorIn(body) : undefined;
};

/** The end of `"error"` and of `"isError"`. */
const IN_BOTH = Buffer.from('rror"');

/**
 * Before a top-level `error` there are scalars only; within a text, its quotes would be escaped. The code comes first,
 * or after the message.
 */
const JSON_RPC_ERROR =
  /^\s*\{[^{[]*"error"\s*:\s*\{(?:\s*"message"\s*:\s*"(?:[^"\\]|\\.)*"\s*,)?(?:\s*"code"\s*:\s*(-?\d{1,10})\b)?/;

/** An error without a code that is easily found. JSON-RPC 2.0 §5.1: -32000 to -32099 are the server's own. */
const UNKNOWN_CODE = '-32000';

const IS_ERROR = /"isError"\s*:\s*true/;

const hasTrueIsError = (part: Buffer): boolean => part.includes('Error"') && IS_ERROR.test(part.toString('latin1'));

/** `isError` may also be a member of the result's content. */
const toolErrorIn = (body: Buffer): 'tool_error' | undefined => {
  if (body.length > READ_BYTES) return 'tool_error';
  const result = memberAt(body, skipSpace(body, 0), 'result');
  const isError = result && body[result.start] === OPEN_BRACE ? memberAt(body, result.start, 'isError') : undefined;
  return isError && body[isError.start] === LETTER_T ? 'tool_error' : undefined;
};

const OPEN_BRACE = 0x7b;
const LETTER_T = 0x74;

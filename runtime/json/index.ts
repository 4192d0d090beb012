/**
 * JSON as bytes: members are found, replaced and relayed without parsing the whole text, so that what a backend wrote
 * reaches the client unchanged. Spans are offsets into a buffer; text is checked once, when it enters. Start at
 * `bytes.ts`.
 */

export {
  JsonSyntaxError,
  type Span,
  checkEncoding,
  isArray,
  isEmptyObject,
  isNumber,
  isObject,
  isString,
  readArray,
  readObject,
  readString,
  skipSpace,
  skipValue,
  splice,
  walkObject,
} from './bytes.ts';
export { internedKey } from './interned-keys.ts';
export {
  type KeyTest,
  SMALL_BYTES,
  memberAt,
  replacedMember,
  smallMember,
  withMembers,
  withoutMembers,
} from './members.ts';
export { objectIn } from './object-in.ts';
export { type SentText, joined, spliced, wholeOf } from './text-pieces.ts';
export { beginsWith, isText } from './text.ts';
export { RepeatedNameError, checkUniqueNames } from './unique-names.ts';

import { argumentsOf, type Call } from '../call/index.ts';
import {
  isObject,
  isString,
  JsonSyntaxError,
  memberAt,
  readString,
  skipValue,
  withoutMembers,
  isText,
} from '../json/index.ts';

/** What is wrong with the arguments, in words that a model can act on. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

export interface FindArguments {
  /** What is searched for by its words. */
  readonly text: string;
  readonly server: string | undefined;
}

/** Longer texts are cut: no description of a tool needs them. */
const LONGEST_TEXT = 2_000;
const MOST_KEYWORDS = 50;

/** Reads the arguments of `find_tool`; keywords count as well as the description. Throws ArgumentError. */
export const findArguments = ({ request }: Pick<Call, 'request'>): FindArguments => {
  const given = argumentsOf(request);
  const value: unknown = given && JSON.parse(given.toString());
  const { tool_description: description, tool_keywords: keywords, server } = isRecord(value) ? value : {};
  // What is beyond the bounds of a search are keywords, which may be left out.
  const words = [...(typeof description === 'string' ? [description] : []), ...wordsIn(keywords)];
  const text = words.join(' ').trim().slice(0, LONGEST_TEXT).toWellFormed();
  if (text === '') throw new ArgumentError('tool_description is missing: say what the tool is to do');
  return { text, server: typeof server === 'string' && server.trim() !== '' ? server.trim() : undefined };
};

/** Models write one word where a list is asked for. */
const wordsIn = (keywords: unknown): readonly string[] => {
  if (typeof keywords === 'string') return [keywords];
  if (!Array.isArray(keywords)) return [];
  return keywords.slice(0, MOST_KEYWORDS).filter((word): word is string => typeof word === 'string');
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface CallArguments {
  readonly name: string;
  /** JSON text of an object, as the client wrote it. */
  readonly args: Buffer;
}

const NONE = Buffer.from('{}');

/**
 * Reads the arguments of `call_tool`. Forgives what models do wrong: the name among the parameters, `arguments` in
 * place of `parameters`, parameters left out, or written as a text. Throws ArgumentError.
 */
export const callArguments = ({ request }: Pick<Call, 'request'>): CallArguments => {
  const given = argumentsOf(request) ?? NONE;
  const parameters = valueIn(given, 'parameters') ?? valueIn(given, 'arguments') ?? NONE;
  const args = isObject(parameters, 0) ? parameters : objectWritten(parameters);
  const name = textIn(given, 'tool_name');
  if (name !== undefined) return { name, args };
  const nested = textIn(args, 'tool_name');
  if (nested === undefined) throw new ArgumentError('tool_name is missing: take a name that find_tool gives');
  const inner = valueIn(args, 'parameters');
  if (inner && isObject(inner, 0)) return { name: nested, args: inner };
  return { name: nested, args: withoutMembers(args, (bytes, keyAt) => isText(bytes, keyAt, 'tool_name')) };
};

const valueIn = (bytes: Buffer, key: string): Buffer | undefined => {
  const span = isObject(bytes, 0) ? memberAt(bytes, 0, key) : undefined;
  return span && bytes.subarray(span.start, span.end);
};

const textIn = (bytes: Buffer, key: string): string | undefined => {
  const value = valueIn(bytes, key);
  const span = { start: 0, end: value?.length ?? 0 };
  return value && isString(value, span) ? readString(value, span) : undefined;
};

const objectWritten = (value: Buffer): Buffer => {
  if (value.equals(NULL)) return NONE;
  const span = { start: 0, end: value.length };
  const text = isString(value, span) ? Buffer.from(readString(value, span).trim()) : undefined;
  if (text && isOneObject(text)) return text;
  throw new ArgumentError('parameters is not an object: write the arguments of the tool as its inputSchema says');
};

const NULL = Buffer.from('null');

const isOneObject = (text: Buffer): boolean => {
  try {
    return isObject(text, 0) && skipValue(text, 0) === text.length;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
};

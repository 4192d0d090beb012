import type { Reply } from '../call/index.ts';
import { memberAt, skipSpace, withoutMembers, type KeyTest, isText } from '../json/index.ts';
import { StepFailure } from './failure.ts';
import { isObjectValue, parsed } from './values.ts';

/** The result of a tool that a step has called. */
export interface ToolResult {
  /** docs/composite-tools.md "What a step gives" */
  readonly output: unknown;
  /** The text that `output` was read from, for templates that ask for it. */
  readonly text: string | undefined;
  /**
   * JSON text of the result as the tool gave it, without what was meant for the caller of the tool alone. Made when it
   * is asked for, as one result of a workflow is passed on at most.
   */
  readonly whole: () => string;
}

/** Throws StepFailure for everything but a complete result without `isError`. */
export const toolResultIn = (reply: Reply): ToolResult => {
  const body = reply.kind === 'whole' ? reply.body : undefined;
  if (!body) throw new StepFailure('the tool gave no result');
  const response = parsed(body.toString());
  const { result, error } = isObjectValue(response) ? response : {};
  if (isObjectValue(error)) throw new StepFailure(clipped(textAt(error, 'message') ?? 'the tool failed'));
  if (!isObjectValue(result)) throw new StepFailure('the tool gave no result');
  const { isError, resultType = 'complete' } = result;
  if (resultType !== 'complete') throw new StepFailure('the tool gave a result that no step can wait for');
  const content = Array.isArray(result['content']) ? (result['content'] as readonly unknown[]) : [];
  if (isError === true) throw new StepFailure(clipped(firstText(content) ?? 'the tool reports an error'));
  // A small piece of what was read at once would keep all of it.
  const kept = body.buffer.byteLength > 4 * body.length ? Buffer.from(body) : body;
  const whole = (): string => wholeOf(kept);
  const structured = result['structuredContent'];
  if (structured !== undefined && structured !== null) return { output: structured, text: undefined, whole };
  return { ...outputOf(content), whole };
};

/** Most of an error's text that is passed on. */
const MAX_TEXT = 2_000;

const clipped = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

const isNotPassedOn: KeyTest = (bytes, keyAt) =>
  isText(bytes, keyAt, '_meta') || isText(bytes, keyAt, 'resultType') || isText(bytes, keyAt, 'isError');

/** As bytes, so that no number of it changes. */
const wholeOf = (body: Buffer): string => {
  const result = memberAt(body, skipSpace(body, 0), 'result');
  return result ? withoutMembers(body.subarray(result.start, result.end), isNotPassedOn).toString() : '{}';
};

const textIn = (block: unknown): string | undefined =>
  isObjectValue(block) && block['type'] === 'text' ? textAt(block, 'text') : undefined;

const textAt = (value: Readonly<Record<string, unknown>>, key: string): string | undefined => {
  const text = value[key];
  return typeof text === 'string' ? text : undefined;
};

const firstText = (content: readonly unknown[]): string | undefined =>
  content.map(textIn).find((text) => text !== undefined);

/** A single text that is a JSON object stands for that object; else each block has a name. */
const outputOf = (content: readonly unknown[]): Pick<ToolResult, 'output' | 'text'> => {
  const [text] = content.map(textIn);
  const object = content.length === 1 && text !== undefined && mayBeObject(text) ? parsed(text) : undefined;
  return isObjectValue(object) ? { output: object, text } : { output: named(content), text: undefined };
};

/** Most texts are none, and a parser that throws costs more than the call. */
const mayBeObject = (text: string): boolean => text.trimStart().startsWith('{');

/** `text`, `text_1` and so on; other blocks as they are: `image_0`, `image_1`, `resource_0`. */
const named = (content: readonly unknown[]): Readonly<Record<string, unknown>> => {
  const counts = new Map<string, number>();
  return Object.fromEntries(
    content.map((block) => {
      const type = isObjectValue(block) ? String(block['type']) : 'unknown';
      const count = counts.get(type) ?? 0;
      counts.set(type, count + 1);
      const text = textIn(block);
      return text === undefined ? [`${type}_${count}`, block] : [count === 0 ? 'text' : `text_${count}`, text];
    }),
  );
};

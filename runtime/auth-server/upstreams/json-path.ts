import type { JsonObject } from './provider-http.ts';

/** Steps of one path at most; each step costs little but for `@upstreamjwt`. */
const MAX_STEPS = 32;
const DECODE = '@upstreamjwt';

/**
 * The value at a path: names of members and indexes of arrays, joined by `.` or `|`; a backslash makes the next
 * character part of the name (https://github.com/tidwall/gjson/blob/master/SYNTAX.md). The step `@upstreamjwt` decodes
 * the payload of a JWT, without verifying it. Undefined: there is nothing.
 */
export const valueAt = (object: JsonObject, path: string): unknown => {
  const steps = stepsOf(path);
  if (steps.length === 0 || steps.length > MAX_STEPS) return undefined;
  return steps.reduce<unknown>(
    (value, step) => (step.text === DECODE && !step.isEscaped ? payloadOf(value) : memberOf(value, step)),
    object,
  );
};

interface Step {
  readonly text: string;
  readonly isEscaped: boolean;
}

const stepsOf = (path: string): readonly Step[] =>
  (path.match(/(?:\\.|[^.|\\])+/gs) ?? []).map((written) => ({
    text: written.replaceAll(/\\(.)/gs, '$1'),
    isEscaped: written.startsWith('\\'),
  }));

const memberOf = (value: unknown, { text, isEscaped }: Step): unknown => {
  // Another modifier of gjson, of which none but this one exists here.
  if (text.startsWith('@') && !isEscaped) return undefined;
  if (Array.isArray(value)) return /^\d{1,6}$/.test(text) ? (value as unknown[])[Number(text)] : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, text)) return undefined;
  return (value as JsonObject)[text];
};

const payloadOf = (token: unknown): unknown => {
  if (typeof token !== 'string') return undefined;
  const [, payload = '', , ...more] = token.split('.', 5);
  if (more.length > 0) return undefined;
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return undefined;
  }
};

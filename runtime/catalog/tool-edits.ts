import { isObject, readObject, skipValue, type Span } from '../json/index.ts';
import type { Candidate } from './candidate.ts';
import type { ToolOverride } from './settings.ts';

/** `bytes` in place of what lies at `span`; an empty span inserts. */
interface Edit {
  readonly span: Span;
  readonly bytes: Buffer;
}

/**
 * The tool under its advertised name, with the override's values in place of the backend's. Everything else stays as
 * the backend wrote it: unknown members, their order, the spelling of numbers.
 */
export const editTool = ({ item, override }: Candidate, advertised: string): Buffer => {
  const named = advertised === item.key ? [] : [{ span: item.keySpan, bytes: json(advertised) }];
  if (override?.description === undefined && override?.annotations === undefined) return edited(item.bytes, named);
  return edited(item.bytes, [...named, ...overriding(item.bytes, override)]);
};

const overriding = (tool: Buffer, { description, annotations }: ToolOverride): readonly Edit[] => {
  const fields = given(annotations ?? {});
  const members = membersOf(tool, 0);
  return [
    ...(description === undefined ? [] : setting(members, 'description', () => json(description))),
    ...(fields.length === 0 ? [] : setting(members, 'annotations', (before) => annotated(tool, before, fields))),
  ];
};

type Field = readonly [name: string, value: string | boolean];

const given = (annotations: NonNullable<ToolOverride['annotations']>): readonly Field[] =>
  Object.entries(annotations).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

/** JSON text of the annotations with these fields set. */
const annotated = (tool: Buffer, before: Span | undefined, fields: readonly Field[]): Buffer => {
  if (!before || !isObject(tool, before.start)) return json(Object.fromEntries(fields));
  const own = tool.subarray(before.start, before.end);
  const members = membersOf(own, 0);
  return edited(own, [...replacing(members, fields), ...inserting(members, fields)]);
};

const replacing = (members: Members, fields: readonly Field[]): readonly Edit[] =>
  fields.flatMap(([name, value]) => (members.spans.get(name) ?? []).map((span) => ({ span, bytes: json(value) })));

const inserting = (members: Members, fields: readonly Field[]): readonly Edit[] => {
  const missing = fields.filter(([name]) => !members.spans.has(name));
  const text = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',');
  return missing.length === 0 ? [] : [insertion(members, Buffer.from(text))];
};

/** Sets one member. A key that occurs twice is set twice, since readers differ in which one they use. */
const setting = (members: Members, key: string, value: (before: Span | undefined) => Buffer): readonly Edit[] => {
  const spans = members.spans.get(key);
  if (spans) return spans.map((span) => ({ span, bytes: value(span) }));
  return [insertion(members, Buffer.concat([json(key), colon, value(undefined)]))];
};

/** Where the values of an object's members lie. */
interface Members {
  readonly spans: ReadonlyMap<string, readonly Span[]>;
  /** Behind the last value, or behind the opening brace of an empty object. */
  readonly end: number;
  readonly isEmpty: boolean;
}

const membersOf = (bytes: Buffer, at: number): Members => {
  const spans = new Map<string, Span[]>();
  let end = at + 1;
  readObject(bytes, at, (key, start) => {
    end = skipValue(bytes, start);
    const known = spans.get(key);
    if (known) known.push({ start, end });
    else spans.set(key, [{ start, end }]);
    return end;
  });
  return { spans, end, isEmpty: spans.size === 0 };
};

const insertion = ({ end, isEmpty }: Members, member: Buffer): Edit => ({
  span: { start: end, end },
  bytes: isEmpty ? member : Buffer.concat([comma, member]),
});

/** Applies edits whose spans do not overlap; insertions at one place keep their order. */
const edited = (bytes: Buffer, edits: readonly Edit[]): Buffer => {
  if (edits.length === 0) return bytes;
  const parts: Buffer[] = [];
  let at = 0;
  for (const { span, bytes: replacement } of edits.toSorted((a, b) => a.span.start - b.span.start)) {
    parts.push(bytes.subarray(at, span.start), replacement);
    at = span.end;
  }
  return Buffer.concat([...parts, bytes.subarray(at)]);
};

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const colon = Buffer.from(':');
const comma = Buffer.from(',');

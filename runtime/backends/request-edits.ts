import type { Call } from '../call.ts';
import { isObject, readObject, skipValue, splice } from '../json-bytes.ts';

/**
 * The call's request as a backend of a revision before 2026-07-28 reads it: under the backend's own name, and without the members of
 * `_meta` that only the newer revision knows. Everything else is as the client wrote it.
 */
export const legacyRequest = ({ request, client }: Pick<Call, 'request' | 'client'>, ownName: Buffer): Buffer => {
  const { bytes, target, meta } = request;
  if (client.era === 'legacy' || !meta) return splice(bytes, target, ownName);
  const edits = [
    { span: target, text: ownName },
    { span: meta, text: withoutReserved(bytes, meta.start) },
  ].sort((a, b) => b.span.start - a.span.start);
  return edits.reduce((edited, { span, text }) => splice(edited, span, text), bytes);
};

const RESERVED = 'io.modelcontextprotocol/';

const withoutReserved = (bytes: Buffer, at: number): Buffer => {
  if (!isObject(bytes, at)) return Buffer.from('{}');
  const kept: string[] = [];
  readObject(bytes, at, (key, start) => {
    const end = skipValue(bytes, start);
    if (!key.startsWith(RESERVED)) kept.push(`${JSON.stringify(key)}:${bytes.toString('utf8', start, end)}`);
    return end;
  });
  return Buffer.from(`{${kept.join(',')}}`);
};

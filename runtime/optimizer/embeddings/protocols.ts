import * as z from 'zod';
import { EmbeddingError } from './embedding-error.ts';
import type { SplitAnswer } from './vectors-in-text.ts';

/** How vectors are asked for in one protocol, and found in the answer. */
export interface EmbeddingProtocol {
  /** Where texts are posted. */
  readonly urlFrom: (base: string) => string;
  readonly bodyOf: (texts: readonly string[], model: string | undefined) => object;
  /** In the order of the texts. Throws EmbeddingError. */
  readonly vectorsIn: (answer: SplitAnswer) => readonly Float32Array[];
  /** Most texts of one request, unless the service names a number. */
  readonly mostTexts: number;
}

export type ProtocolName = 'tei' | 'openai';

/** What stands for a vector, by its place. */
const placeSchema = z.tuple([z.int().min(0)]);
const teiSchema = z.array(placeSchema);
const openAiSchema = z.object({ data: z.array(z.object({ index: z.int().min(0), embedding: placeSchema })) });

const read = <T>(schema: z.ZodType<T>, rest: unknown): T => {
  const { success, data } = schema.safeParse(rest);
  if (!success) throw noVectors();
  return data;
};

const vectorAt = ({ vectors }: SplitAnswer, [place]: z.infer<typeof placeSchema>): Float32Array => {
  const vector = vectors[place];
  if (vector === undefined || vector.length === 0) throw noVectors();
  return vector;
};

const noVectors = (): EmbeddingError =>
  new EmbeddingError('invalid', 'the answer of the embedding service has no vectors');

/** A URL with another path; its query stays, as some services have their version there. */
const withPath = (base: string, pathFrom: (path: string) => string): string => {
  const url = new URL(base);
  url.pathname = pathFrom(withoutSlash(url.pathname));
  url.hash = '';
  return url.href;
};

const withoutSlash = (path: string): string => path.replace(/\/+$/, '');

/** The base URL with this path, unless it ends in its last step, or in a beginning of it. */
const under = (base: string, ...steps: readonly string[]): string =>
  withPath(base, (path) => {
    if (path.endsWith(`/${steps.at(-1)}`)) return path;
    for (let kept = steps.length - 1; kept > 0; kept -= 1) {
      if (path.endsWith(`/${steps.slice(0, kept).join('/')}`)) return [path, ...steps.slice(kept)].join('/');
    }
    return [path, ...steps].join('/');
  });

export const PROTOCOLS: Readonly<Record<ProtocolName, EmbeddingProtocol>> = {
  /** Hugging Face text-embeddings-inference. */
  tei: {
    urlFrom: (base) => under(base, 'embed'),
    bodyOf: (inputs) => ({ inputs, truncate: true }),
    vectorsIn: (answer) => read(teiSchema, answer.rest).map((place) => vectorAt(answer, place)),
    mostTexts: 32,
  },
  /** OpenAI, and whatever has its `/v1/embeddings`. */
  openai: {
    urlFrom: (base) => under(base, 'v1', 'embeddings'),
    bodyOf: (input, model) => ({ input, ...(model !== undefined && { model }), encoding_format: 'float' }),
    vectorsIn: (answer) =>
      read(openAiSchema, answer.rest)
        .data.toSorted((a, b) => a.index - b.index)
        .map(({ embedding }) => vectorAt(answer, embedding)),
    mostTexts: 64,
  },
};

/** The protocol that a URL names itself; undefined: the service has to be asked. */
export const protocolIn = (base: string): ProtocolName | undefined => {
  const { pathname } = new URL(base);
  const path = withoutSlash(pathname);
  if (path.endsWith('/embed')) return 'tei';
  return path.endsWith('/v1') || path.endsWith('/embeddings') ? 'openai' : undefined;
};

/** Where a service of text-embeddings-inference tells of itself. */
export const infoUrlFrom = (base: string): string => withPath(base, (path) => `${path.replace(/\/embed$/, '')}/info`);

/** Where a service like that of OpenAI lists its models. */
export const modelsUrlFrom = (base: string): string =>
  withPath(base, (path) => `${path.replace(/(\/v1)?(\/embeddings)?$/, '')}/v1/models`);

/** What `/info` tells, as far as it matters here. */
export const infoSchema = z.looseObject({
  model_id: z.string().max(512),
  model_sha: z.string().max(128).nullish(),
  max_client_batch_size: z.int().min(1).max(10_000).nullish(),
});

export const modelsSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string().max(512) })).min(1) });

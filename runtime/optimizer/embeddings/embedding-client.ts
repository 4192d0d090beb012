import { FetchError, type GuardedFetch, isLoopbackAddress } from '../../http/index.ts';
import { EmbeddingError } from './embedding-error.ts';
import { isSameModel, modelKeyOf, PROBE } from './model-probe.ts';
import {
  infoSchema,
  infoUrlFrom,
  modelsSchema,
  modelsUrlFrom,
  protocolIn,
  PROTOCOLS,
  type ProtocolName,
} from './protocols.ts';
import { splitAnswer } from './vectors-in-text.ts';

export interface EmbeddingClientDeps {
  readonly fetch: GuardedFetch;
  /** A secret, for services that ask for one; read for every request. */
  readonly apiKey: () => Promise<string | undefined>;
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
}

export interface EmbeddingServiceSettings {
  /** Base URL, or that of the endpoint itself. */
  readonly url: string;
  /** The model to ask for, where a service has several. */
  readonly model: string | undefined;
}

/** A service that has answered. */
export interface ConnectedService {
  readonly protocol: ProtocolName;
  readonly model: string | undefined;
  readonly dimension: number;
  /** Time that the first short text took. */
  readonly firstMs: number;
  /** Texts of one request. */
  readonly batchSize: number;
  /** What the service says of its model, with the dimension. */
  readonly modelName: string;
  /** The vector of `PROBE`. */
  readonly probe: Float32Array;
  /** Equal for services whose vectors can be compared. */
  readonly modelKey: string;
  /** Vectors of the texts, in their order, all of this model. Throws EmbeddingError. */
  readonly embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
}

/** Finds out which protocol, model and dimension a service has. Throws EmbeddingError. */
export const connectEmbeddings = async (
  settings: EmbeddingServiceSettings,
  deps: EmbeddingClientDeps,
): Promise<ConnectedService> => {
  const { protocol, model, revision, mostTexts } = await knownOf(settings, deps);
  const post = postTo(PROTOCOLS[protocol].urlFrom(settings.url), deps);
  const embed = async (texts: readonly string[], dimension?: number): Promise<readonly Float32Array[]> => {
    const { bodyOf, vectorsIn } = PROTOCOLS[protocol];
    const vectors = vectorsIn(await splitAnswer(await post(bodyOf(texts, model)), texts.length + OTHER_ARRAYS));
    if (vectors.length !== texts.length)
      throw new EmbeddingError(
        'invalid',
        'the embedding service answered with another number of vectors than of texts',
      );
    for (const vector of vectors) check(vector, dimension);
    return vectors;
  };
  const from = deps.steadyNow();
  const [probe = new Float32Array(0)] = await embed([PROBE]);
  const firstMs = deps.steadyNow() - from;
  const dimension = probe.length;
  const modelName = JSON.stringify([model ?? '', revision ?? '', dimension]);
  const embedTogether = oneByOneWhereNeeded((texts) => embed(texts, dimension));
  const embedProved = async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const vectors = await embedTogether([...texts, PROBE]);
    if (!isSameModel(vectors.at(-1) ?? probe, probe))
      throw new EmbeddingError('invalid', 'the embedding service has another model than before');
    return vectors.slice(0, -1);
  };
  return {
    protocol,
    model,
    dimension,
    firstMs,
    batchSize: Math.max(1, mostTexts - 1),
    modelName,
    probe,
    modelKey: modelKeyOf(modelName, probe),
    // A service that says that it takes one text at a time is asked for no more.
    embed: mostTexts > 1 ? embedProved : (texts) => embed(texts, dimension),
  };
};

type Embed = ConnectedService['embed'];

/**
 * A service may take one text at a time without saying so. That it refuses two texts, and takes each of them, shows it:
 * from then on it is sent one text at a time.
 */
const oneByOneWhereNeeded = (embed: Embed): Embed => {
  let takesOne = false;
  const embedOneByOne: Embed = async (texts) => {
    const vectors: Float32Array[] = [];
    for (const text of texts) vectors.push(...(await embed([text])));
    return vectors;
  };
  return async (texts) => {
    if (takesOne) return embedOneByOne(texts);
    try {
      return await embed(texts);
    } catch (error) {
      if (texts.length > 2 || !(error instanceof EmbeddingError) || !error.isOfTexts) throw error;
      const vectors = await embedOneByOne(texts);
      takesOne = true;
      return vectors;
    }
  };
};

/** Arrays of an answer that are no vectors, as an empty list of warnings. */
const OTHER_ARRAYS = 64;

/** Models have no more dimensions; the index holds a number of 4 bytes for each, of each tool. */
const MAX_DIMENSION = 8_192;

const check = (vector: Float32Array, dimension = vector.length): void => {
  const isUsable = vector.length === dimension && dimension <= MAX_DIMENSION && vector.some((value) => value !== 0);
  if (!isUsable)
    throw new EmbeddingError('invalid', 'the embedding service answered with vectors that cannot be compared');
};

interface Known {
  readonly protocol: ProtocolName;
  readonly model: string | undefined;
  readonly revision?: string | undefined;
  /** Of one request, with that of the probe. */
  readonly mostTexts: number;
}

const knownOf = async ({ url, model }: EmbeddingServiceSettings, deps: EmbeddingClientDeps): Promise<Known> => {
  const named = protocolIn(url);
  const info = named === 'openai' ? undefined : await asked(infoUrlFrom(url), deps);
  const { data: told } = infoSchema.safeParse(info);
  if (told || named === 'tei') {
    const mostTexts = Math.min(MOST_TEXTS, told?.max_client_batch_size ?? PROTOCOLS.tei.mostTexts);
    return { protocol: 'tei', model: told?.model_id, revision: told?.model_sha ?? undefined, mostTexts };
  }
  const { mostTexts } = PROTOCOLS.openai;
  if (model !== undefined) return { protocol: 'openai', model, mostTexts };
  const { data: models } = modelsSchema.safeParse(await asked(modelsUrlFrom(url), deps));
  return { protocol: 'openai', model: models?.data[0]?.id, mostTexts };
};

/** Large batches keep queries waiting, which a service answers in turn. */
const MOST_TEXTS = 64;

/** What a GET is answered with; undefined where there is nothing at that address. */
const asked = async (url: string, deps: EmbeddingClientDeps): Promise<unknown> => {
  const { status, body } = await sent({ url }, deps);
  if (status >= 500) throw new EmbeddingError('unavailable', `the embedding service answered with HTTP ${status}`);
  return status < 300 ? jsonIn(body) : undefined;
};

const postTo =
  (url: string, deps: EmbeddingClientDeps) =>
  async (body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await sent({ url, method: 'POST', headers, body: JSON.stringify(body) }, deps);
    const { status } = answer;
    if (status >= 300) {
      const isBusy = status >= 500 || status === 429;
      const isOfTexts = status === 400 || status === 413 || status === 422;
      const message = `the embedding service answered with HTTP ${status}`;
      throw new EmbeddingError(isBusy ? 'unavailable' : 'refused', message, isOfTexts);
    }
    return answer.body.toString();
  };

type Sent = Parameters<GuardedFetch>[0];

const sent = async (request: Sent, { fetch, apiKey }: EmbeddingClientDeps): ReturnType<GuardedFetch> => {
  const key = await apiKey();
  const { protocol, hostname } = new URL(request.url);
  // A key is not sent where others on the way can read it.
  const isSafe = protocol === 'https:' || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
  const authorization = key !== undefined && isSafe ? { authorization: `Bearer ${key}` } : {};
  try {
    return await fetch({ ...request, headers: { accept: 'application/json', ...request.headers, ...authorization } });
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    const reason = error.reason === 'timeout' ? 'timeout' : 'unavailable';
    throw new EmbeddingError(reason, `no answer of the embedding service: ${error.message}${about(error)}`);
  }
};

const about = ({ where }: FetchError): string => (where === '' ? '' : ` (${where})`);

const jsonIn = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};

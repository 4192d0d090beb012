import { FetchError, type GuardedFetch, isLoopbackAddress } from '../../http/index.ts';
import { EmbeddingError } from './embedding-error.ts';
import {
  infoSchema,
  infoUrlFrom,
  modelsSchema,
  modelsUrlFrom,
  protocolIn,
  PROTOCOLS,
  type ProtocolName,
} from './protocols.ts';

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
  /** Equal for services whose vectors can be compared. */
  readonly modelKey: string;
  /** Vectors of the texts, in their order. Throws EmbeddingError. */
  readonly embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
}

/** Finds out which protocol, model and dimension a service has. Throws EmbeddingError. */
export const connectEmbeddings = async (
  settings: EmbeddingServiceSettings,
  deps: EmbeddingClientDeps,
): Promise<ConnectedService> => {
  const { protocol, model, revision, batchSize } = await knownOf(settings, deps);
  const post = postTo(PROTOCOLS[protocol].urlFrom(settings.url), deps);
  const embed = async (texts: readonly string[], dimension?: number): Promise<readonly Float32Array[]> => {
    const { bodyOf, vectorsIn } = PROTOCOLS[protocol];
    const vectors = vectorsIn(await post(bodyOf(texts, model)));
    if (vectors.length !== texts.length)
      throw new EmbeddingError(
        'invalid',
        'the embedding service answered with another number of vectors than of texts',
      );
    return vectors.map((vector) => checked(vector, dimension));
  };
  const from = deps.steadyNow();
  const [first] = await embed([PROBE]);
  const firstMs = deps.steadyNow() - from;
  const dimension = first?.length ?? 0;
  return {
    protocol,
    model,
    dimension,
    firstMs,
    batchSize,
    modelKey: JSON.stringify([model ?? '', revision ?? '', dimension]),
    embed: (texts) => embed(texts, dimension),
  };
};

/** The text that shows the dimension of a model. */
const PROBE = 'dimension';

/** Models have no more dimensions; the index holds a number of 4 bytes for each, of each tool. */
const MAX_DIMENSION = 8_192;

const checked = (vector: readonly number[], dimension = vector.length): Float32Array => {
  const floats = Float32Array.from(vector);
  const isUsable =
    floats.length === dimension &&
    dimension <= MAX_DIMENSION &&
    floats.every((value) => Number.isFinite(value)) &&
    floats.some((value) => value !== 0);
  if (!isUsable)
    throw new EmbeddingError('invalid', 'the embedding service answered with vectors that cannot be compared');
  return floats;
};

interface Known {
  readonly protocol: ProtocolName;
  readonly model: string | undefined;
  readonly revision?: string | undefined;
  readonly batchSize: number;
}

const knownOf = async ({ url, model }: EmbeddingServiceSettings, deps: EmbeddingClientDeps): Promise<Known> => {
  const named = protocolIn(url);
  const info = named === 'openai' ? undefined : await asked(infoUrlFrom(url), deps);
  const { data: told } = infoSchema.safeParse(info);
  if (told || named === 'tei') {
    const batchSize = Math.min(MAX_BATCH, told?.max_client_batch_size ?? PROTOCOLS.tei.batchSize);
    return { protocol: 'tei', model: told?.model_id, revision: told?.model_sha ?? undefined, batchSize };
  }
  const { batchSize } = PROTOCOLS.openai;
  if (model !== undefined) return { protocol: 'openai', model, batchSize };
  const { data: models } = modelsSchema.safeParse(await asked(modelsUrlFrom(url), deps));
  return { protocol: 'openai', model: models?.data[0]?.id, batchSize };
};

/** Large batches keep queries waiting, which a service answers in turn. */
const MAX_BATCH = 64;

/** What a GET is answered with; undefined where there is nothing at that address. */
const asked = async (url: string, deps: EmbeddingClientDeps): Promise<unknown> => {
  const { status, body } = await sent({ url }, deps);
  if (status >= 500) throw new EmbeddingError('unavailable', `the embedding service answered with HTTP ${status}`);
  return status < 300 ? jsonIn(body) : undefined;
};

const postTo =
  (url: string, deps: EmbeddingClientDeps) =>
  async (body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await sent({ url, method: 'POST', headers, body: JSON.stringify(body) }, deps);
    const { status } = answer;
    if (status >= 300) {
      const isBusy = status >= 500 || status === 429;
      const isOfTexts = status === 400 || status === 413 || status === 422;
      const message = `the embedding service answered with HTTP ${status}`;
      throw new EmbeddingError(isBusy ? 'unavailable' : 'refused', message, isOfTexts);
    }
    const parsed = jsonIn(answer.body);
    if (parsed === undefined) throw new EmbeddingError('invalid', 'the answer of the embedding service is not JSON');
    return parsed;
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

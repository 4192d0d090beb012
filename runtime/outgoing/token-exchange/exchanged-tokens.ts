import { type BlockInFile, tokenTypeUri } from '../../config/index.ts';
import type { VmcpError } from '../../errors.ts';
import type { Obtained } from '../credential-cache.ts';
import type { Wanted } from '../credential-source.ts';
import { recentRefusals } from '../recent-refusals.ts';
import { type Named, noCredential } from '../refusals.ts';
import type { StrategyDeps } from '../strategy.ts';
import { keysOfSubjects, type Subject } from '../subject-token.ts';
import { exchange, ExchangeError, type ExchangeFailure, type ExchangeSettings } from './exchange.ts';

type Block = BlockInFile<'tokenExchange'>;

/** A token with the key that it is cached by. */
export interface Exchanged {
  readonly key: string;
  readonly token: string;
  readonly isCached: boolean;
}

export interface ExchangedTokens {
  /** The token for the backend, from the cache where it is fit for use. Throws `credential_unavailable`. */
  readonly tokenFor: (subject: Subject, wanted: Wanted) => Exchanged | Promise<Exchanged>;
  /** Forgets a token that the backend has refused. */
  readonly drop: (refused: Exchanged) => void;
  /** For some seconds, `tokenFor` throws this error: the backend has refused the token although it was new. */
  readonly giveUp: (refused: Exchanged, error: VmcpError) => void;
}

/** The tokens that one backend takes, each asked for once for all requests until it expires. */
export const exchangedTokens = (block: Block, of: Named, deps: StrategyDeps): ExchangedTokens => {
  const { backend, clock, measures } = deps;
  const settings = settingsOf(block);
  const cache = deps.newCredentialCache<string>();
  const refusals = recentRefusals(clock);
  const target = [settings.tokenUrl, settings.audience ?? '', ...(settings.scopes ?? [])];
  const keyOf = keysOfSubjects(({ user: { issuer, subject }, token }) => [
    of.strategy,
    backend.name,
    backend.origin,
    issuer,
    subject,
    token,
    ...target,
  ]);
  const obtain = async (subjectToken: string, signal: AbortSignal): Promise<Obtained<string>> => {
    const clientSecret = await clientSecretOf(block, of, deps);
    const askedAt = clock.now();
    const measure = (outcome: ExchangeFailure | 'obtained'): void =>
      measures.obtained(outcome, (clock.now() - askedAt) / 1_000);
    try {
      const obtained = await exchange(settings, { subjectToken, clientSecret, signal }, deps);
      measure('obtained');
      return obtained;
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      measure(error.outcome);
      throw noCredential(of, error.message, { detail: error.detail, isOutage: error.isOutage });
    }
  };
  return {
    tokenFor: (subject, wanted) => {
      const key = keyOf(subject);
      refusals.check(key);
      const token = cache.get(key, (signal) => obtain(subject.token, signal), wanted);
      if (typeof token !== 'string') return token.then((obtained) => ({ key, token: obtained, isCached: false }));
      return { key, token, isCached: true };
    },
    drop: ({ key, token }) => cache.drop(key, token),
    giveUp: ({ key }, error) => refusals.note(key, error),
  };
};

const settingsOf = ({ tokenUrl, subjectTokenType, audience, scopes, clientId }: Block): ExchangeSettings => ({
  tokenUrl,
  subjectTokenType: tokenTypeUri(subjectTokenType),
  audience,
  scopes,
  clientId,
});

/** Read for every exchange, so that it can rotate. Undefined: none is configured. */
const clientSecretOf = async (
  { clientSecret, clientSecretEnv, clientSecretFile }: Block,
  of: Named,
  { readSecret }: Pick<StrategyDeps, 'readSecret'>,
): Promise<string | undefined> => {
  const isConfigured = [clientSecret, clientSecretEnv, clientSecretFile].some((each) => each !== undefined);
  if (!isConfigured || clientSecret) return clientSecret || undefined;
  const secret = await readSecret({ file: clientSecretFile, environment: clientSecretEnv }).catch((cause: unknown) => {
    throw noCredential(of, 'the client secret cannot be read', { cause });
  });
  if (secret === undefined) throw noCredential(of, 'the client secret is missing or empty');
  return secret;
};

import {
  type AroundCall,
  type Call,
  type Caller,
  clientKey,
  type Reply,
  type RoutedMethod,
  type User,
} from '../call/index.ts';
import { atMost, type Clock } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { isObject, memberAt, smallMember } from '../json/index.ts';
import { canAnswer } from '../mcp/index.ts';
import { Challenges } from './challenges.ts';

/** Where a user can sign in at an upstream provider, and no other user. */
export interface SignInOffer {
  /** Good for one sign-in of this user; says nothing about anybody. */
  readonly url: string;
  /** The page of the user's linked accounts. */
  readonly accountsUrl: string;
  readonly lifeMs: number;
}

/** Sign-ins of users at upstream providers. */
export interface SignIns {
  /** Undefined: a sign-in of this user there is not this server's to offer. */
  readonly offer: (user: User, provider: string) => Promise<SignInOffer | undefined>;
  /** Calls `run` once the user has signed in there, at whichever replica; returns the function that ends it. */
  readonly onSignedIn: (user: User, provider: string, run: () => void) => () => void;
  /** Whether the user has no account there that is good. Throws VmcpError where that is not known. */
  readonly isMissing: (user: User, provider: string) => Promise<boolean>;
  /** An id that nobody can guess. */
  readonly newId: () => string;
}

export interface SignInLadderDeps {
  readonly signIns: SignIns;
  readonly clock: Clock;
}

/** What is done for a client, and may need a sign-in of its user. */
export interface SignInLadder {
  readonly aroundCall: AroundCall;
  readonly list: <T>(caller: Caller, list: () => Promise<T>) => Promise<T>;
}

/**
 * How a request is answered that needs a sign-in of its user at an upstream provider: with the strongest signal that
 * its client has declared to understand (docs/sign-in.md "What clients get").
 */
export const signInLadder = (deps: SignInLadderDeps): SignInLadder => {
  const { signIns } = deps;
  const challenges = new Challenges(deps.clock);
  const wantedBy = async (caller: Caller, error: unknown): Promise<Wanted | undefined> => {
    const provider = providerIn(error);
    if (caller.kind !== 'user' || provider === undefined || !(error instanceof VmcpError)) return undefined;
    const offer = await signIns.offer(caller, provider).catch(() => undefined);
    return offer && { user: caller, provider, offer, error };
  };
  return {
    aroundCall: async (call, record, next) => {
      const tried = await outcomeOf(next);
      if ('reply' in tried) return tried.reply;
      const wanted = await wantedBy(call.caller, tried.error);
      if (!wanted) throw tried.error;
      if (call.depth > 0) return insideCall(deps, { ...wanted, call, next });
      const isExecuted = record.target !== undefined && record.target.kind !== 'backend';
      return forClient({ ...deps, challenges }, { ...wanted, call, next, isExecuted });
    },
    list: async (caller, list) => {
      try {
        return await list();
      } catch (error) {
        const wanted = await wantedBy(caller, error);
        throw wanted ? challengeOf(challenges, wanted) : error;
      }
    },
  };
};

/** Time for the user to sign in, once the client has agreed to show the page: below the usual timeout of clients. */
const SIGN_IN_MS = 40_000;

interface Wanted {
  readonly user: User;
  readonly provider: string;
  readonly offer: SignInOffer;
  readonly error: VmcpError;
}

interface WantedByCall extends Wanted {
  readonly call: Call;
  /** Makes the call once more. */
  readonly next: () => Promise<Reply>;
}

const outcomeOf = async (next: () => Promise<Reply>): Promise<{ reply: Reply } | { error: unknown }> => {
  try {
    return { reply: await next() };
  } catch (error) {
    return { error };
  }
};

interface WantedByClient extends WantedByCall {
  /** Parts of the call may be done already: it is not to be made again. */
  readonly isExecuted: boolean;
}

interface ClientDeps extends SignInLadderDeps {
  readonly challenges: Challenges;
}

const forClient = async (deps: ClientDeps, wanted: WantedByClient): Promise<Reply> => {
  if (!takesUrls(wanted.call)) throw challengeOf(deps.challenges, wanted);
  if (wanted.call.client.era === 'legacy') throw elicitation(deps, wanted);
  if (wanted.isExecuted || !IN_ROUNDS.has(wanted.call.method)) throw inText(wanted);
  const action = actionIn(wanted.call, wanted.provider);
  if (action === undefined) return inputRequired(wanted);
  if (action !== 'accept') throw inText(wanted);
  // The answer says that the user opens the page, not that all is done there.
  const tried = await outcomeOf(() => onceSignedIn(deps, wanted));
  if ('reply' in tried) return tried.reply;
  if (providerIn(tried.error) === undefined) throw tried.error;
  return inputRequired(wanted);
};

/** A step of another call: the client is asked while that one is held, as what was done before must not be repeated. */
const insideCall = async (deps: SignInLadderDeps, wanted: WantedByCall): Promise<Reply> => {
  const { call, provider, error } = wanted;
  // The whole call is answered by what its client understands.
  if (call.client.era === 'legacy' || !takesUrls(call)) throw error;
  const params = Buffer.from(JSON.stringify(questionOf(wanted)));
  const question = { method: 'elicitation/create', params, key: keyOf(provider) };
  const answer = await call.client.ask(question, call.signal);
  if (answer.kind === 'error' || smallMember(answer.result, 0, 'action') !== 'accept') throw error;
  return onceSignedIn(deps, wanted);
};

/** Makes the call again when the user has signed in, or has had the time for that. */
const onceSignedIn = async ({ signIns, clock }: SignInLadderDeps, wanted: WantedByCall): Promise<Reply> => {
  const { call, user, provider, next } = wanted;
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const unsubscribe = signIns.onSignedIn(user, provider, resolve);
  // Nobody is told of a sign-in that was done before. An account may be there, and not be what the call needs.
  if (!(await signIns.isMissing(user, provider).catch(() => true))) {
    const tried = await outcomeOf(next);
    if ('reply' in tried || providerIn(tried.error) !== provider) {
      unsubscribe();
      if ('reply' in tried) return tried.reply;
      throw tried.error;
    }
  }
  const cancelled = (): void => resolve();
  call.signal.addEventListener('abort', cancelled);
  await atMost(clock, SIGN_IN_MS, call.signal.aborted ? Promise.resolve() : isOver);
  call.signal.removeEventListener('abort', cancelled);
  unsubscribe();
  if (call.signal.aborted) throw call.signal.reason;
  return next();
};

const keyOf = (provider: string): string => `vmcp.dev/sign-in/${provider}`;

/** What the client of 2026-07-28 has answered to the question; undefined: it has not been asked. */
const actionIn = ({ answered }: Call, provider: string): unknown => {
  const answers = answered?.answers;
  if (!answers || !isObject(answers, 0)) return undefined;
  const answer = memberAt(answers, 0, keyOf(provider));
  return answer && isObject(answers, answer.start) ? (smallMember(answers, answer.start, 'action') ?? '') : undefined;
};

/**
 * Asks the client of 2026-07-28 to show the page (MCP "Multi Round-Trip Requests"). There is no `requestState`, as
 * nothing is kept here: the client makes the same call again, at whichever replica.
 */
const inputRequired = (wanted: WantedByCall): Reply => {
  const request = { method: 'elicitation/create', params: questionOf(wanted) };
  const result = { resultType: 'input_required', inputRequests: { [keyOf(wanted.provider)]: request } };
  const id = wanted.call.request.id.toString();
  return {
    kind: 'whole',
    status: 200,
    body: Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`),
  };
};

const SCOPE = 'upstream:';

const providerIn = (error: unknown): string | undefined => {
  if (!(error instanceof VmcpError) || error.code !== 'login_required') return undefined;
  const scope = error.challenge?.['scope'] ?? '';
  return scope.startsWith(SCOPE) ? scope.slice(SCOPE.length) : undefined;
};

const questionOf = ({ provider, offer }: Wanted) => ({
  mode: 'url',
  url: offer.url,
  message: `Sign in to "${provider}" to go on.`,
});

/** MCP 2025-11-25, "Elicitation": mode `url` only for a client that names it; `{}` means forms. */
const takesUrls = ({ client }: Call): boolean => canAnswer(client.capabilities, 'elicitation/create', URL_MODE);

const URL_MODE = Buffer.from('{"mode":"url"}');

/** Methods whose results may ask for input (MCP 2026-07-28, "Multi Round-Trip Requests"). */
const IN_ROUNDS: ReadonlySet<RoutedMethod> = new Set(['tools/call', 'prompts/get', 'resources/read']);

const elicitation = (deps: SignInLadderDeps, wanted: WantedByCall): VmcpError => {
  const elicitationId = deps.signIns.newId();
  tellWhenDone(deps, wanted, elicitationId);
  const data = { elicitations: [{ ...questionOf(wanted), elicitationId }] };
  return new VmcpError('url_elicitation_required', wanted.error.message, { data });
};

const challengeOf = (challenges: Challenges, wanted: Wanted): VmcpError =>
  challenges.isFirst(`${clientKey(wanted.user)} ${wanted.provider}`)
    ? new VmcpError('login_required', wanted.error.message, moreOf(wanted))
    : inText(wanted);

/** For a client that cannot show a page, or was asked in vain. */
const inText = (wanted: Wanted): VmcpError => new VmcpError('sign_in_needed', wanted.error.message, moreOf(wanted));

const moreOf = ({ error: { challenge = {} }, offer: { url, accountsUrl } }: Wanted) => ({
  challenge,
  data: { signInUrl: url, accountsUrl },
});

/** MCP 2025-11-25, "Completion Notifications for URL Mode Elicitation". */
const tellWhenDone = (
  { signIns, clock }: SignInLadderDeps,
  { call, user, provider, offer }: WantedByCall,
  id: string,
): void => {
  const { notifyLater } = call.client;
  if (!notifyLater) return;
  const message = { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: id } };
  const done = signIns.onSignedIn(user, provider, () => {
    timer.cancel();
    done();
    notifyLater(Buffer.from(JSON.stringify(message)));
  });
  const timer = clock.after(offer.lifeMs, done);
};

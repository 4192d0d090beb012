import { createHash } from 'node:crypto';
import { callerKey, clientKey, type Call, type Reply, type RoutedMethod } from '../call.ts';
import { unknownState } from '../questions.ts';
import { argumentsOf } from '../call-arguments.ts';
import { ByteBudget, Share } from '../byte-budget.ts';
import type { Clock } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { isObject, readString, skipValue, walkObject } from '../json-bytes.ts';
import { memberAt } from '../json-members.ts';
import { LIMITS } from '../limits.ts';
import { MAX_PROGRESS_TOKEN_BYTES } from '../store/index.ts';
import { networkOf } from './client-shares.ts';
import { type Answers, HeldCall, type Round } from './held-call.ts';
import type { HeldElsewhere, Holder } from './held-elsewhere.ts';
import { ModernClient } from './modern-client.ts';

export interface HeldCallsDeps {
  readonly clock: Clock;
  /** An unguessable text. */
  readonly newId: () => string;
  /** How long a client may take to come back. */
  readonly ttlMs: () => number;
  /** The other replicas; absent: there are none. */
  readonly elsewhere?: HeldElsewhere | undefined;
}

/** Methods whose results may ask for input. */
const IN_ROUNDS: ReadonlySet<RoutedMethod> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Known {
  readonly held: HeldCall;
  /** Digest of who asks for what. */
  readonly request: string;
}

/**
 * The calls of clients of 2026-07-28 that wait for what their backends have asked. Each is known by a state that nobody can guess, to its
 * caller, for the same request.
 */
export class HeldCalls {
  readonly #deps: HeldCallsDeps;
  readonly #calls = new Map<string, Known>();
  readonly #counts = new Map<string, number>();
  readonly #bytes = new ByteBudget(LIMITS.heldCallBytesTogether);

  constructor(deps: HeldCallsDeps) {
    this.#deps = deps;
  }

  /**
   * Serves a call with `next`, unless the call goes on with one that is held. A state that is not known here may be a backend's own.
   */
  serve(call: Call, next: () => Promise<Reply>): Promise<Reply> {
    const { client } = call;
    if (call.depth > 0 || !(client instanceof ModernClient) || !IN_ROUNDS.has(call.method)) return next();
    const { state, answers } = call.answered ?? {};
    const given = answers ? answersIn(answers) : NONE;
    const id = state === undefined ? undefined : idIn(state);
    if (state === undefined || id === undefined) return this.#begin(call, client, { given, next });
    const known = this.#calls.get(id);
    if (known) return goOn(call, client, { ...known, state, given });
    const { elsewhere } = this.#deps;
    if (!elsewhere) return this.#begin(call, client, { given, next });
    const request = { state, request: digestOf(call), id: call.request.id.toString(), payload: answers ?? NO_ANSWERS };
    const token = tokenOf(call);
    // Without its token, the round hears of no progress; a client need not be told of any (MCP "Progress").
    const progressToken = token && token.length <= MAX_PROGRESS_TOKEN_BYTES ? token.toString() : undefined;
    return elsewhere
      .goOn(call, { id, caller: call.caller }, { ...request, progressToken, logLevel: client.logLevel })
      .then((reply) => reply ?? this.#begin(call, client, { given, next }));
  }

  cancelAll(reason: VmcpError): void {
    for (const { held } of this.#calls.values()) held.cancel(reason);
  }

  #begin(
    call: Call,
    client: ModernClient,
    { given, next }: { readonly given: Answers; readonly next: () => Promise<Reply> },
  ): Promise<Reply> {
    return new Promise((answer, refuse) => {
      const begun = new BegunCall({ call, client, given, settle: { answer, refuse }, hold: this.#hold });
      client.begun = begun;
      next().then(
        (reply) => begun.succeed(reply),
        (error: unknown) => begun.fail(error),
      );
    });
  }

  readonly #hold = ({ call, client, given, settle }: Begun): HeldCall => {
    const round = roundOf(call, client, settle);
    const { clock, newId, ttlMs, elsewhere } = this.#deps;
    const holder = placeOf(call, client);
    const room = new Share(this.#bytes);
    if (this.#calls.size >= LIMITS.heldCalls || (this.#counts.get(holder) ?? 0) >= LIMITS.heldCallsPerClient)
      throw full();
    if (!room.grow(call.request.bytes.length)) throw full();
    const id = newId();
    this.#count(holder, 1);
    const request = digestOf(call);
    const announced = elsewhere?.announce(
      { id, caller: call.caller },
      holderOf(() => ({ held, request })),
    );
    const held: HeldCall = new HeldCall(
      {
        clock,
        id,
        answers: given,
        isKnown: announced?.isKnown,
        ttlMs: ttlMs(),
        room,
        cancel: (reason) => client.cancel(reason),
        onOver: () => {
          announced?.end();
          this.#calls.delete(id);
          this.#count(holder, -1);
        },
      },
      round,
    );
    this.#calls.set(id, { held, request });
    return held;
  };

  #count(holder: string, by: 1 | -1): void {
    const count = (this.#counts.get(holder) ?? 0) + by;
    if (count === 0) this.#counts.delete(holder);
    else this.#counts.set(holder, count);
  }
}

interface Continued extends Known {
  readonly state: string;
  readonly given: Answers;
}

/** Throws `invalid_params` where the state is not that of the call's newest round, or the request another one. */
const demandRound = ({ held, request }: Known, asked: { readonly state: string; readonly request: string }): void => {
  if (held.state !== asked.state || request !== asked.request) throw unknownState();
};

const goOn = (call: Call, client: ModernClient, { held, request, state, given }: Continued): Promise<Reply> => {
  demandRound({ held, request }, { state, request: digestOf(call) });
  return new Promise((answer, refuse) => {
    held.goOn(roundOf(call, client, { answer, refuse }), given);
    const gone = (): void => held.cancel(asVmcpError(call.signal.reason));
    if (call.signal.aborted) gone();
    else call.signal.addEventListener('abort', gone);
  });
};

interface Begun {
  readonly call: Call;
  readonly client: ModernClient;
  /** What the client has answered ahead. */
  readonly given: Answers;
  readonly settle: Pick<Round, 'answer' | 'refuse'>;
  readonly hold: (begun: Begun) => HeldCall;
}

/** A call from its beginning on. Most are never held, and so cost little: no round is made for them, and no closure. */
class BegunCall {
  readonly #begun: Begun;

  constructor(begun: Begun) {
    this.#begun = begun;
  }

  /** Throws `busy` when no more can be held. */
  hold(): HeldCall {
    return this.#begun.hold(this.#begun);
  }

  succeed(reply: Reply): void {
    const { client, settle } = this.#begun;
    client.served();
    if (client.held) client.held.succeed(reply);
    else settle.answer(reply);
  }

  fail(error: unknown): void {
    const { client, settle } = this.#begun;
    client.served();
    if (client.held) client.held.fail(error);
    else settle.refuse(error);
  }
}

/** The call, as other replicas go on with it. */
const holderOf = (known: () => Known): Holder => ({
  goOn: (round, { state, request, payload }) => {
    demandRound(known(), { state, request });
    known().held.goOn(round, answersIn(payload));
  },
  gone: () => known().held.cancel(new VmcpError('cancelled', 'the client went away')),
});

const NONE: Answers = new Map();

const NO_ANSWERS = Buffer.from('{}');

/** The id of a call in what may be a state of ours; undefined: it is a backend's own. */
const idIn = (state: string): string | undefined => /^(?<id>[\w-]{16,64})\.[0-9]{1,6}$/.exec(state)?.groups?.['id'];

const full = (): VmcpError =>
  new VmcpError('busy', 'too many calls wait for what their clients were asked; try again later');

/** Who has a share of the places. Of anonymous callers only the address is known. */
const placeOf = ({ caller }: Call, { request }: ModernClient): string =>
  caller.kind === 'user' ? callerKey(caller) : `${caller.kind} ${networkOf(request.clientAddress)}`;

/** MCP: the state is good for the request that it was given out for, of the same client, and for no other. */
const digestOf = (call: Call): string =>
  createHash('sha256')
    .update(JSON.stringify([clientKey(call.caller), call.method, call.name]))
    .update(argumentsOf(call.request) ?? '')
    .digest('base64url');

const roundOf = (call: Call, { request, logLevel }: ModernClient, settle: Pick<Round, 'answer' | 'refuse'>): Round => ({
  ...settle,
  id: call.request.id,
  logLevel,
  progressToken: tokenOf(call),
  notify: (notification) => void request.send(notification),
  backlog: () => request.backlog(),
});

const tokenOf = ({ request: { bytes, meta } }: Call): Buffer | undefined => {
  const token = meta && memberAt(bytes, meta.start, 'progressToken');
  return token && bytes.subarray(token.start, token.end);
};

/** JSON text of each answer, by its question. Throws `invalid_params`. */
const answersIn = (text: Buffer): Answers => {
  const answers = new Map<string, Buffer>();
  if (!isObject(text, 0)) throw notAnswers('params.inputResponses');
  walkObject(text, 0, (keyAt, keyEnd, valueAt) => {
    const key = readString(text, { start: keyAt, end: keyEnd });
    if (!isObject(text, valueAt)) throw notAnswers(`params.inputResponses.${key.slice(0, 32)}`);
    const end = skipValue(text, valueAt);
    answers.set(key, text.subarray(valueAt, end));
    return end;
  });
  return answers;
};

const notAnswers = (where: string): VmcpError => new VmcpError('invalid_params', `${where} is not an object`);

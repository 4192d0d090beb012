import { createHash } from 'node:crypto';
import {
  callerKey,
  clientKey,
  type Call,
  type RoutedMethod,
  type Reply,
  unknownState,
  argumentsOf,
  WORKFLOW_STATE,
} from '../call/index.ts';
import { ByteBudget, Share, type Clock } from '../process/index.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { isObject, readString, skipValue, walkObject, memberAt } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import { MAX_PROGRESS_TOKEN_BYTES } from '../store/index.ts';
import { networkOf } from '../http/index.ts';
import { type Answers, HeldCall, type Round } from './held-call.ts';
import type { RemoteHeldCalls, HeldCallHandler } from './remote-held-calls.ts';
import { ModernClient } from './modern-client.ts';

export interface HeldCallsDeps {
  readonly clock: Clock;
  /** An unguessable text. */
  readonly newId: () => string;
  /** How long a client may take to send its next request. */
  readonly ttlMs: () => number;
  /** The calls that other replicas hold; absent: there are no other replicas. */
  readonly remote?: RemoteHeldCalls | undefined;
}

/** Methods whose results may ask for input. */
const IN_ROUNDS: ReadonlySet<RoutedMethod> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Known {
  readonly held: HeldCall;
  /** Digest of the client, the method, the name and the arguments. */
  readonly request: string;
}

/**
 * The calls of clients of 2026-07-28 that wait for answers to their backends' questions. A held call is found by an
 * unguessable `requestState`, and only by the same client for the same request.
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
   * Serves a call with `next`, unless the client's request continues a held call. A `requestState` that is unknown here
   * may be a backend's own.
   */
  serve(call: Call, next: () => Promise<Reply>): Promise<Reply> {
    const { client } = call;
    if (call.depth > 0 || !(client instanceof ModernClient) || !IN_ROUNDS.has(call.method)) return next();
    const { state, answers } = call.answered ?? {};
    // What is answered there are the questions of a workflow's own steps, and of no backend.
    if (state?.startsWith(WORKFLOW_STATE)) return this.#begin(call, client, { given: NONE, next });
    const given = answers ? answersIn(answers) : NONE;
    const id = state === undefined ? undefined : idIn(state);
    if (state === undefined || id === undefined) return this.#begin(call, client, { given, next });
    const known = this.#calls.get(id);
    if (known) return goOn(call, client, { ...known, state, given });
    const { remote } = this.#deps;
    if (!remote) return this.#begin(call, client, { given, next });
    const request = { state, request: digestOf(call), id: call.request.id.toString(), payload: answers ?? NO_ANSWERS };
    const token = tokenOf(call);
    // Without the token, the client gets no progress notifications for this request; none are owed to it (MCP
    // "Progress").
    const progressToken = token && token.length <= MAX_PROGRESS_TOKEN_BYTES ? token.toString() : undefined;
    return remote
      .goOn(call, { id, caller: call.caller }, { ...request, progressToken, logLevel: client.logLevel })
      .then((reply) => reply ?? this.#begin(call, client, { given, next }));
  }

  /** The taken part of what can be held, 0 to 1. */
  get utilization(): { readonly calls: number; readonly bytes: number } {
    return { calls: this.#calls.size / LIMITS.heldCalls, bytes: this.#bytes.utilization };
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
      const begun = new UnheldCall({ call, client, given, settle: { answer, refuse }, hold: this.#hold });
      client.begun = begun;
      next().then(
        (reply) => begun.succeed(reply),
        (error: unknown) => begun.fail(error),
      );
    });
  }

  readonly #hold = ({ call, client, given, settle }: UnheldCallParts): HeldCall => {
    const round = roundOf(call, client, settle);
    const { clock, newId, ttlMs, remote } = this.#deps;
    const holder = placeOf(call, client);
    const share = new Share(this.#bytes);
    if (this.#calls.size >= LIMITS.heldCalls || (this.#counts.get(holder) ?? 0) >= LIMITS.heldCallsPerClient)
      throw full();
    if (!share.grow(call.request.bytes.length)) throw full();
    const id = newId();
    this.#count(holder, 1);
    const request = digestOf(call);
    const announced = remote?.announce(
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
        share,
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

/**
 * Throws `invalid_params` where the state is not that of the call's newest round, or the request is a different one.
 */
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

interface UnheldCallParts {
  readonly call: Call;
  readonly client: ModernClient;
  /** Answers that the client sent ahead. */
  readonly given: Answers;
  readonly settle: Pick<Round, 'answer' | 'refuse'>;
  readonly hold: (begun: UnheldCallParts) => HeldCall;
}

/** A call before it is held. Most calls never are, so neither a round nor a closure is made for them. */
class UnheldCall {
  readonly #begun: UnheldCallParts;

  constructor(begun: UnheldCallParts) {
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

/** Lets other replicas continue the call. */
const holderOf = (known: () => Known): HeldCallHandler => ({
  goOn: (round, { state, request, payload }) => {
    demandRound(known(), { state, request });
    known().held.goOn(round, answersIn(payload));
  },
  gone: () => known().held.cancel(new VmcpError('cancelled', 'the client went away')),
});

const NONE: Answers = new Map();

const NO_ANSWERS = Buffer.from('{}');

/** The id of the call in a `requestState` of this gateway; undefined: the state is a backend's own. */
const idIn = (state: string): string | undefined => /^(?<id>[\w-]{16,64})\.[0-9]{1,6}$/.exec(state)?.groups?.['id'];

const full = (): VmcpError =>
  new VmcpError('busy', 'too many calls wait for what their clients were asked; try again later');

/** Key under which a client's held calls are counted: the user, or the network of a caller that is no user. */
const placeOf = ({ caller }: Call, { request }: ModernClient): string =>
  caller.kind === 'user' ? callerKey(caller) : `${caller.kind} ${networkOf(request.clientAddress)}`;

/** MCP: a `requestState` is valid only for the client and the request that it was issued for. */
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

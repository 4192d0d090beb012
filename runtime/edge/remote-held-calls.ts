import type { Call, Reply } from '../call/index.ts';
import type { Clock, Timer } from '../process/index.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import {
  decodeHeldCallRequest,
  decodeHeldCallReply,
  encodeHeld,
  heldCallKey,
  heldRoundChannel,
  MAX_HELD_PAYLOAD_BYTES,
  Outbox,
  type SessionRef,
  type Store,
  type HeldCallRequest,
  type HeldCallReply,
} from '../store/index.ts';
import type { Round } from './held-call.ts';
import { isErrorCode } from './error-response.ts';

export interface RemoteHeldCallsDeps {
  readonly store: Pick<Store, 'set' | 'get' | 'delete' | 'publish' | 'subscribe' | 'state'>;
  readonly clock: Clock;
  /** An unguessable text. */
  readonly newId: () => string;
}

type GoOn = Extract<HeldCallRequest, { kind: 'goOn' }>;

/** A held call, for the requests that its client sends to other replicas. */
export interface HeldCallHandler {
  /** Throws VmcpError when the request does not continue this call. */
  readonly goOn: (round: Round, request: GoOn) => void;
  /** The client has closed its request. */
  readonly gone: () => void;
}

/** A held call that other replicas can find until `end` is called. */
export interface Announced {
  /** Resolves once other replicas can find the call, or the store cannot be reached. */
  readonly isKnown: Promise<void>;
  readonly end: () => void;
}

/** Longer than any call lives. */
const MARKER_MS = 3_600_000;
/**
 * How often the holding replica reports that the call is alive, how long the other replica waits for a report, and how
 * long for the first one.
 */
const HEARTBEAT_MS = 5_000;
const IDLE_TIMEOUT_MS = 15_000;
const FIRST_REPLY_MS = 3_000;
/** Bytes that may wait for the store before the backend is asked to pause. */
const BACKLOG_BYTES = 64 * 1024;

/** Passes clients' requests to the replica that holds their call, and the call's notifications and outcome back. */
export class RemoteHeldCalls {
  readonly #deps: RemoteHeldCallsDeps;
  readonly #outbox = new Outbox();

  constructor(deps: RemoteHeldCallsDeps) {
    this.#deps = deps;
  }

  /** Lets other replicas find a call that is held here. */
  announce(call: SessionRef, holder: HeldCallHandler): Announced {
    const { store } = this.#deps;
    const key = heldCallKey(call);
    const rounds = new Map<string, RemoteRound>();
    const subscription = store.subscribe(key, (sealed) => {
      const message = decodeHeldCallRequest(call, sealed);
      if (message?.kind === 'goOn') this.#begin(call, message, { holder, rounds });
      if (message?.kind === 'gone' && rounds.get(message.round)?.isOpen) holder.gone();
    });
    const isTold =
      store.state() === 'down'
        ? Promise.resolve()
        : Promise.all([store.set(key, HERE, MARKER_MS), subscription.isLive]);
    return {
      // While the store is unreachable, the client has to send its next request to this replica.
      isKnown: isTold.then(
        () => {},
        () => {},
      ),
      end: () => {
        subscription.end();
        void store.delete(key).catch(() => {});
      },
    };
  }

  #begin(
    call: SessionRef,
    message: GoOn,
    { holder, rounds }: { readonly holder: HeldCallHandler; readonly rounds: Map<string, RemoteRound> },
  ): void {
    const round = new RemoteRound(message, {
      clock: this.#deps.clock,
      send: (told) => this.#send(call, message.round, told),
    });
    try {
      holder.goOn(round, message);
      rounds.clear();
      rounds.set(message.round, round);
    } catch (error) {
      round.refuse(error);
    }
  }

  /** Resolves once the store has taken the message. False: the message is too large, or too many bytes wait. */
  async #send(call: SessionRef, round: string, told: HeldCallReply): Promise<boolean> {
    const payload = 'payload' in told ? told.payload.length : 0;
    const taken = payload <= MAX_HELD_PAYLOAD_BYTES ? this.#outbox.enter(round, payload) : undefined;
    if (!taken) return false;
    await this.#deps.store
      .publish(heldRoundChannel(call, round), encodeHeld(call, told), 'withoutDeadline')
      .then(taken, taken);
    return true;
  }

  /** Continues a call at the replica that holds it; undefined when no replica does. Throws `store_unavailable`. */
  async goOn(call: Call, ref: SessionRef, request: Omit<GoOn, 'kind' | 'round'>): Promise<Reply | undefined> {
    const { store, newId, clock } = this.#deps;
    if (!(await store.get(heldCallKey(ref)))) return undefined;
    const round = newId();
    const tell = (message: HeldCallRequest): Promise<void> => store.publish(heldCallKey(ref), encodeHeld(ref, message));
    const waiting = new ForwardedRound(call, clock, () => giveUp(lost()));
    const channel = heldRoundChannel(ref, round);
    const subscription = store.subscribe(channel, (sealed) => {
      const told = decodeHeldCallReply(ref, sealed);
      if (told) waiting.receive(told);
    });
    const giveUp = (reason: unknown): void => {
      void tell({ kind: 'gone', round }).catch(() => {});
      waiting.fail(reason);
    };
    const gone = (): void => giveUp(call.signal.reason);
    call.signal.addEventListener('abort', gone);
    try {
      await subscription.isLive;
      await tell({ ...request, kind: 'goOn', round });
      return await waiting.reply;
    } finally {
      call.signal.removeEventListener('abort', gone);
      waiting.end();
      subscription.end();
    }
  }
}

const HERE = Buffer.from('here');

interface RemoteRoundDeps {
  readonly clock: Clock;
  readonly send: (told: HeldCallReply) => Promise<boolean>;
}

/** A client's request that another replica received, at the replica that holds the call. */
class RemoteRound implements Round {
  readonly id: Buffer;
  readonly progressToken: Buffer | undefined;
  readonly logLevel: string | undefined;
  readonly #deps: RemoteRoundDeps;
  #isOpen = true;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #heartbeat: Timer;

  constructor({ id, progressToken, logLevel }: GoOn, deps: RemoteRoundDeps) {
    this.id = Buffer.from(id);
    this.progressToken = progressToken === undefined ? undefined : Buffer.from(progressToken);
    this.logLevel = logLevel;
    this.#deps = deps;
    this.#heartbeat = this.#sendHeartbeat();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  notify(notification: Buffer): void {
    const { length } = notification;
    this.#waiting += length;
    this.#last = this.#deps.send({ kind: 'notification', payload: notification }).then(() => {
      this.#waiting -= length;
    });
  }

  backlog(): Promise<void> | undefined {
    return this.#waiting > BACKLOG_BYTES ? this.#last.then(() => {}) : undefined;
  }

  answer(reply: Reply): void {
    const { status, body } = reply.kind === 'whole' ? reply : { status: 0, body: undefined };
    if (!body)
      return this.refuse(new VmcpError('internal', 'internal error', { detail: 'a held call gave no answer' }));
    this.#close();
    void this.#deps.send({ kind: 'reply', status, payload: body }).then((isSent) => {
      if (!isSent) this.#sendRefusal(new VmcpError('busy', 'the answer is too large to be sent to another replica'));
    });
  }

  refuse(error: unknown): void {
    this.#close();
    this.#sendRefusal(asVmcpError(error));
  }

  #sendRefusal({ code, message, data }: VmcpError): void {
    void this.#deps.send({ kind: 'refusal', code, message, data });
  }

  #close(): void {
    this.#isOpen = false;
    this.#heartbeat.cancel();
  }

  #sendHeartbeat(): Timer {
    void this.#deps.send({ kind: 'alive' });
    return this.#deps.clock.after(HEARTBEAT_MS, () => {
      this.#heartbeat = this.#sendHeartbeat();
    });
  }
}

/** The same request, at the replica that received it. */
class ForwardedRound {
  readonly #call: Call;
  readonly #outcome = Promise.withResolvers<Reply>();
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  #idleTimer: Timer;

  constructor(call: Call, clock: Clock, onSilence: () => void) {
    this.#call = call;
    this.#clock = clock;
    this.#onIdle = onSilence;
    this.#idleTimer = clock.after(FIRST_REPLY_MS, onSilence);
    // The promise is awaited only once the message to the other replica is sent.
    this.#outcome.promise.catch(() => {});
  }

  get reply(): Promise<Reply> {
    return this.#outcome.promise;
  }

  receive(told: HeldCallReply): void {
    this.#idleTimer.cancel();
    if (told.kind === 'reply') this.#outcome.resolve({ kind: 'whole', status: told.status, body: told.payload });
    else if (told.kind === 'refusal') this.fail(refusalIn(told));
    else this.#idleTimer = this.#clock.after(IDLE_TIMEOUT_MS, this.#onIdle);
    if (told.kind === 'notification') this.#call.client.notify(told.payload);
  }

  fail(error: unknown): void {
    this.#outcome.reject(error);
  }

  end(): void {
    this.#idleTimer.cancel();
  }
}

const refusalIn = ({ code, message, data }: Extract<HeldCallReply, { kind: 'refusal' }>): VmcpError =>
  isErrorCode(code) ? new VmcpError(code, message, data && { data }) : lost();

const lost = (): VmcpError =>
  new VmcpError('backend_unavailable', 'the replica that holds the call does not answer; make the call again');

import type { Call, Reply } from '../call.ts';
import type { Clock, Timer } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import {
  decodeToHolder,
  decodeToRound,
  encodeHeld,
  heldCallKey,
  heldRoundChannel,
  MAX_HELD_PAYLOAD_BYTES,
  Outbox,
  type SessionRef,
  type Store,
  type ToHolder,
  type ToRound,
} from '../store/index.ts';
import type { Round } from './held-call.ts';
import { isErrorCode } from './wire.ts';

export interface HeldElsewhereDeps {
  readonly store: Pick<Store, 'set' | 'get' | 'delete' | 'publish' | 'subscribe' | 'state'>;
  readonly clock: Clock;
  /** An unguessable text. */
  readonly newId: () => string;
}

type GoOn = Extract<ToHolder, { kind: 'goOn' }>;

/** What a held call does when its client has come back to another replica. */
export interface Holder {
  /** Throws VmcpError when the request is not one that goes on with the call. */
  readonly goOn: (round: Round, request: GoOn) => void;
  /** The client of the request with this name has gone. */
  readonly gone: () => void;
}

export interface Announced {
  /** Resolves once other replicas find the call, or cannot be told. */
  readonly isKnown: Promise<void>;
  readonly end: () => void;
}

/** Longer than any call lives. */
const MARKER_MS = 3_600_000;
/** How often a request is told that the call is still there, how long it waits to hear so, and how long for the first time. */
const ALIVE_MS = 5_000;
const PATIENCE_MS = 15_000;
const FIRST_MS = 3_000;
/** What may wait for the store before the backend is asked to pause. */
const BACKLOG_BYTES = 64 * 1024;

/** Takes the requests of clients to the replica that holds their call, and what becomes of it back. */
export class HeldElsewhere {
  readonly #deps: HeldElsewhereDeps;
  readonly #outbox = new Outbox();

  constructor(deps: HeldElsewhereDeps) {
    this.#deps = deps;
  }

  /** Lets other replicas find a call that is held here. */
  announce(call: SessionRef, holder: Holder): Announced {
    const { store } = this.#deps;
    const key = heldCallKey(call);
    const rounds = new Map<string, RemoteRound>();
    const subscription = store.subscribe(key, (sealed) => {
      const message = decodeToHolder(call, sealed);
      if (message?.kind === 'goOn') this.#begin(call, message, { holder, rounds });
      if (message?.kind === 'gone' && rounds.get(message.round)?.isOpen) holder.gone();
    });
    const isTold =
      store.state() === 'down'
        ? Promise.resolve()
        : Promise.all([store.set(key, HERE, MARKER_MS), subscription.isLive]);
    return {
      // Where the store is away, the client has to come back to this replica.
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
    { holder, rounds }: { readonly holder: Holder; readonly rounds: Map<string, RemoteRound> },
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

  /** Resolves once the store has taken it. False: there is no room. */
  async #send(call: SessionRef, round: string, told: ToRound): Promise<boolean> {
    const payload = 'payload' in told ? told.payload.length : 0;
    const taken = payload <= MAX_HELD_PAYLOAD_BYTES ? this.#outbox.enter(round, payload) : undefined;
    if (!taken) return false;
    await this.#deps.store
      .publish(heldRoundChannel(call, round), encodeHeld(call, told), 'patiently')
      .then(taken, taken);
    return true;
  }

  /** Goes on with a call at the replica that holds it; undefined when none does. Throws `store_unavailable`. */
  async goOn(call: Call, ref: SessionRef, request: Omit<GoOn, 'kind' | 'round'>): Promise<Reply | undefined> {
    const { store, newId, clock } = this.#deps;
    if (!(await store.get(heldCallKey(ref)))) return undefined;
    const round = newId();
    const tell = (message: ToHolder): Promise<void> => store.publish(heldCallKey(ref), encodeHeld(ref, message));
    const waiting = new RoundElsewhere(call, clock, () => giveUp(lost()));
    const channel = heldRoundChannel(ref, round);
    const subscription = store.subscribe(channel, (sealed) => {
      const told = decodeToRound(ref, sealed);
      if (told) waiting.hear(told);
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
  readonly send: (told: ToRound) => Promise<boolean>;
}

/** A request that has come to another replica, as the replica that holds the call sees it. */
class RemoteRound implements Round {
  readonly id: Buffer;
  readonly progressToken: Buffer | undefined;
  readonly logLevel: string | undefined;
  readonly #deps: RemoteRoundDeps;
  #isOpen = true;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #alive: Timer;

  constructor({ id, progressToken, logLevel }: GoOn, deps: RemoteRoundDeps) {
    this.id = Buffer.from(id);
    this.progressToken = progressToken === undefined ? undefined : Buffer.from(progressToken);
    this.logLevel = logLevel;
    this.#deps = deps;
    this.#alive = this.#tellAlive();
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
      if (!isSent) this.#tell(new VmcpError('busy', 'the answer is too large to be sent to another replica'));
    });
  }

  refuse(error: unknown): void {
    this.#close();
    this.#tell(asVmcpError(error));
  }

  #tell({ code, message, data }: VmcpError): void {
    void this.#deps.send({ kind: 'refusal', code, message, data });
  }

  #close(): void {
    this.#isOpen = false;
    this.#alive.cancel();
  }

  #tellAlive(): Timer {
    void this.#deps.send({ kind: 'alive' });
    return this.#deps.clock.after(ALIVE_MS, () => {
      this.#alive = this.#tellAlive();
    });
  }
}

/** The same request, as the replica that it has come to sees it. */
class RoundElsewhere {
  readonly #call: Call;
  readonly #outcome = Promise.withResolvers<Reply>();
  readonly #clock: Clock;
  readonly #onSilence: () => void;
  #silence: Timer;

  constructor(call: Call, clock: Clock, onSilence: () => void) {
    this.#call = call;
    this.#clock = clock;
    this.#onSilence = onSilence;
    this.#silence = clock.after(FIRST_MS, onSilence);
    // Somebody waits for it only once the other replica was told.
    this.#outcome.promise.catch(() => {});
  }

  get reply(): Promise<Reply> {
    return this.#outcome.promise;
  }

  hear(told: ToRound): void {
    this.#silence.cancel();
    if (told.kind === 'reply') this.#outcome.resolve({ kind: 'whole', status: told.status, body: told.payload });
    else if (told.kind === 'refusal') this.fail(refusalIn(told));
    else this.#silence = this.#clock.after(PATIENCE_MS, this.#onSilence);
    if (told.kind === 'notification') this.#call.client.notify(told.payload);
  }

  fail(error: unknown): void {
    this.#outcome.reject(error);
  }

  end(): void {
    this.#silence.cancel();
  }
}

const refusalIn = ({ code, message, data }: Extract<ToRound, { kind: 'refusal' }>): VmcpError =>
  isErrorCode(code) ? new VmcpError(code, message, data && { data }) : lost();

const lost = (): VmcpError =>
  new VmcpError('backend_unavailable', 'the replica that holds the call does not answer; make the call again');

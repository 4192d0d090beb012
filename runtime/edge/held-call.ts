import type { CallClient, Reply, ClientAnswer, Question } from '../call/index.ts';
import type { Share, CancelSignal, Clock, Timer } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { memberAt, replacedMember, withoutMembers, type KeyTest, isText } from '../json/index.ts';
import { LIMITS } from '../limits.ts';

/** One of the client's requests for a call that may take several. */
export interface Round extends Pick<CallClient, 'backlog'> {
  /** JSON text. */
  readonly id: Buffer;
  /** JSON text of the client's progress token; undefined where the client wants no progress notifications. */
  readonly progressToken: Buffer | undefined;
  /** As in `CallClient`; each request names its own level. */
  readonly logLevel: string | undefined;
  /** Relays a notification before the answer. */
  readonly notify: (notification: Buffer) => void;
  readonly answer: (reply: Reply) => void;
  readonly refuse: (error: unknown) => void;
}

export interface HeldCallDeps {
  readonly clock: Clock;
  /** Id of the call; part of the `requestState` that the client gets. */
  readonly id: string;
  /** Answers that the client sent with its first request: JSON texts by the key of the question. */
  readonly answers: Answers;
  /** Resolves once every replica can find the call; absent: there is no other replica. */
  readonly isKnown?: Promise<void> | undefined;
  /** How long the client may take to send its next request. */
  readonly ttlMs: number;
  /** Byte budget for what is kept for the client. */
  readonly share: Share;
  /** Cancels the call. */
  readonly cancel: (reason: VmcpError) => void;
  /** Called when the client has had its answer, or will get none. */
  readonly onOver: () => void;
}

/** JSON text of each answer, by its question. */
export type Answers = ReadonlyMap<string, Buffer>;

interface OpenQuestion {
  /** JSON text of an input request. */
  readonly text: Buffer;
  readonly settle: (answer: ClientAnswer) => void;
  readonly refuse: (reason: VmcpError) => void;
}

/**
 * A call whose backend has sent a request to the client, whose revision has no such requests. The client's own request
 * is answered with `input_required` while the call stays under way; the call continues when the client sends a new
 * request with the answers (MCP 2026-07-28, "Multi Round-Trip Requests").
 */
export class HeldCall {
  readonly #deps: HeldCallDeps;
  readonly #questions = new Map<string, OpenQuestion>();
  /** The progress token of the client's first request, which is the one that the backend uses. */
  readonly #firstToken: Buffer | undefined;
  /** The client's request that waits for the call; undefined until the client sends the next one. */
  #round: Round | undefined;
  /** Keys of the questions that were answered ahead. */
  readonly #answeredAhead = new Set<string>();
  #asked = 0;
  #rounds = 0;
  #outcome: ((round: Round) => void) | undefined;
  #absenceTimer: Timer | undefined;
  #isAskPlanned = false;
  #isOver = false;

  constructor(deps: HeldCallDeps, first: Round) {
    this.#deps = deps;
    this.#firstToken = first.progressToken;
    this.#round = first;
  }

  /** The `requestState` that the client has to send next; it changes with each round. */
  get state(): string {
    return `${this.#deps.id}.${this.#rounds}`;
  }

  /** Asks the client. Throws `busy` when too many questions are open or their texts are too large. */
  ask({ method, params, key: name }: Question, signal: CancelSignal): Promise<ClientAnswer> {
    if (signal.aborted) throw signal.reason;
    const given = this.#takeAnswerAhead(name);
    if (given) return Promise.resolve({ kind: 'result', result: given });
    const text = inputRequest(method, params);
    if (this.#questions.size >= LIMITS.clientRequestsPerSession || !this.#deps.share.grow(text.length))
      throw new VmcpError('busy', 'the client has too many open questions');
    const key = this.#keyOf(name);
    return new Promise<ClientAnswer>((resolve, reject) => {
      const unwanted = (): void => reject(signal.reason);
      signal.addEventListener('abort', unwanted);
      const settled = (): void => signal.removeEventListener('abort', unwanted);
      this.#questions.set(key, {
        text,
        settle: (answer) => {
          settled();
          resolve(answer);
        },
        refuse: (reason) => {
          settled();
          reject(reason);
        },
      });
      this.#askSoon();
    }).finally(() => {
      this.#questions.delete(key);
      if (!this.#isOver) this.#deps.share.grow(-text.length);
    });
  }

  /**
   * The answer that the client sent ahead. It is used once: a backend that asks again under the same name did not
   * accept it.
   */
  #takeAnswerAhead(name: string | undefined): Buffer | undefined {
    if (name === undefined || this.#rounds > 0 || this.#answeredAhead.has(name)) return undefined;
    const given = this.#deps.answers.get(name);
    if (given) this.#answeredAhead.add(name);
    return given;
  }

  /** The backend's own name for the question, unless another open question has it; else a new key. */
  #keyOf(name: string | undefined): string {
    let key = name;
    while (key === undefined || this.#questions.has(key)) {
      this.#asked += 1;
      key = `q${this.#asked}`;
    }
    return key;
  }

  /** Log level of the client's request that waits for the call. */
  get logLevel(): string | undefined {
    return this.#round?.logLevel;
  }

  notify(notification: Buffer): void {
    const round = this.#round;
    const told = round && this.#underTokenOf(round, notification);
    // While no request of the client waits, notifications are dropped.
    if (told) round.notify(told);
  }

  backlog(): Promise<void> | undefined {
    return this.#round?.backlog();
  }

  /**
   * Continues the call with the client's next request. Throws `busy` when another request already waits for the call.
   */
  goOn(round: Round, answers: Answers): void {
    if (this.#round) throw new VmcpError('busy', 'another request goes on with this call already');
    this.#absenceTimer?.cancel();
    this.#round = round;
    if (this.#outcome) return this.#finish(round, this.#outcome);
    for (const [key, result] of answers) {
      const question = this.#questions.get(key);
      this.#questions.delete(key);
      question?.settle({ kind: 'result', result });
    }
    this.#askSoon();
  }

  /** Cancels the call, and no longer waits for the client. */
  cancel(reason: VmcpError): void {
    if (!this.#round) this.#over();
    this.#deps.cancel(reason);
  }

  /** The call has succeeded: answers the client's request that waits, or keeps the answer for its next one. */
  succeed(reply: Reply): void {
    if (this.#isOver) return;
    const isKept =
      this.#round !== undefined || reply.kind !== 'whole' || this.#deps.share.grow(reply.body?.length ?? 0);
    if (isKept) this.#end((round) => round.answer(underIdOf(round, reply)));
    else this.fail(new VmcpError('busy', 'the answer came while its client was away, and is too large to be kept'));
  }

  fail(error: unknown): void {
    this.#end((round) => round.refuse(error));
  }

  #end(outcome: (round: Round) => void): void {
    if (this.#isOver) return;
    if (this.#round) this.#finish(this.#round, outcome);
    else this.#outcome = outcome;
  }

  #finish(round: Round, outcome: (round: Round) => void): void {
    this.#over();
    outcome(round);
  }

  /** Questions of one turn of the event loop are sent to the client together. */
  #askSoon(): void {
    if (this.#isAskPlanned || !this.#round) return;
    this.#isAskPlanned = true;
    const tell = (): void => {
      this.#isAskPlanned = false;
      this.#askClient();
    };
    setImmediate(() => {
      if (this.#deps.isKnown) void this.#deps.isKnown.then(tell);
      else tell();
    });
  }

  #askClient(): void {
    const round = this.#round;
    if (!round || this.#isOver || this.#questions.size === 0) return;
    this.#round = undefined;
    this.#rounds += 1;
    const reason = new VmcpError('cancelled', 'the client did not come back with what the backend has asked');
    this.#absenceTimer = this.#deps.clock.after(this.#deps.ttlMs, () => this.cancel(reason));
    round.answer({ kind: 'whole', status: 200, body: this.#inputRequired(round.id) });
  }

  #inputRequired(id: Buffer): Buffer {
    const requests = [...this.#questions].map(([key, { text }]) => `${JSON.stringify(key)}:${text.toString()}`);
    const result = `{"resultType":"input_required","inputRequests":{${requests.join(',')}},"requestState":${JSON.stringify(this.state)}}`;
    return Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"result":${result}}`);
  }

  /**
   * The notification under the progress token of this request, as each request may name another; undefined where the
   * client wants no progress notifications.
   */
  #underTokenOf({ progressToken }: Round, notification: Buffer): Buffer | undefined {
    const first = this.#firstToken;
    const method = memberAt(notification, 0, 'method');
    if (!first || !method || !isText(notification, method.start, 'notifications/progress')) return notification;
    if (!progressToken || progressToken.equals(first)) return progressToken && notification;
    return replacedMember(notification, 'params', (params) =>
      replacedMember(params, 'progressToken', () => progressToken),
    );
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#absenceTimer?.cancel();
    for (const { refuse } of this.#questions.values()) refuse(over());
    this.#deps.share.release();
    this.#deps.onOver();
  }
}

const over = (): VmcpError => new VmcpError('cancelled', 'the call is over');

/** Members of earlier revisions that 2026-07-28 has no use for. */
const isOlder: KeyTest = (bytes, keyAt) =>
  isText(bytes, keyAt, '_meta') || isText(bytes, keyAt, 'task') || isText(bytes, keyAt, 'elicitationId');

const inputRequest = (method: string, params: Buffer | undefined): Buffer => {
  // A client of the Go SDK cannot read a question without params.
  const asked = params ? withoutMembers(params, isOlder).toString() : '{}';
  return Buffer.from(`{"method":${JSON.stringify(method)},"params":${asked}}`);
};

const underIdOf = ({ id }: Round, reply: Reply): Reply =>
  reply.kind === 'whole' && reply.body ? { ...reply, body: replacedMember(reply.body, 'id', () => id) } : reply;

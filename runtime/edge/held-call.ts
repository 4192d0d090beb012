import type { CallClient, Reply } from '../call.ts';
import type { ClientAnswer, Question } from '../questions.ts';
import type { Share } from '../byte-budget.ts';
import type { CancelSignal } from '../cancellation.ts';
import type { Clock, Timer } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import { memberAt, replacedMember, withoutMembers, type KeyTest } from '../json-members.ts';
import { isText } from '../json-text.ts';
import { LIMITS } from '../limits.ts';

/** One request of the client to a call that may take several. */
export interface Round extends Pick<CallClient, 'backlog'> {
  /** JSON text. */
  readonly id: Buffer;
  /** JSON text of the token that progress is told under; undefined where the client wants to hear of none. */
  readonly progressToken: Buffer | undefined;
  /** As `CallClient` has it: each request says what it wants to hear. */
  readonly logLevel: string | undefined;
  /** Relays a notification before the answer. */
  readonly notify: (notification: Buffer) => void;
  readonly answer: (reply: Reply) => void;
  readonly refuse: (error: unknown) => void;
}

export interface HeldCallDeps {
  readonly clock: Clock;
  /** Names the call to its client. */
  readonly id: string;
  /** JSON texts of answers that the client gave ahead, by question. */
  readonly answers: Answers;
  /** Resolves once the client may come back to any replica; absent: there is no other. */
  readonly isKnown?: Promise<void> | undefined;
  /** How long the client may take to come back. */
  readonly ttlMs: number;
  /** Room for what is kept for the client. */
  readonly room: Share;
  /** Breaks the call off. */
  readonly cancel: (reason: VmcpError) => void;
  /** The client has had its answer, or will have none. */
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
 * A call whose backend has asked something: it stays under way while its client, of a revision without requests to clients, is answered
 * `input_required`, and goes on when the client comes back with the answers (MCP 2026-07-28, "Multi Round-Trip Requests").
 */
export class HeldCall {
  readonly #deps: HeldCallDeps;
  readonly #questions = new Map<string, OpenQuestion>();
  /** What the backend calls the client's progress token. */
  readonly #firstToken: Buffer | undefined;
  /** Undefined while the client has the word. */
  #round: Round | undefined;
  /** Names of questions whose answers were given ahead. */
  readonly #taken = new Set<string>();
  #asked = 0;
  #rounds = 0;
  #outcome: ((round: Round) => void) | undefined;
  #absence: Timer | undefined;
  #isTelling = false;
  #isOver = false;

  constructor(deps: HeldCallDeps, first: Round) {
    this.#deps = deps;
    this.#firstToken = first.progressToken;
    this.#round = first;
  }

  /** `requestState`: another one in each round. */
  get state(): string {
    return `${this.#deps.id}.${this.#rounds}`;
  }

  /** Throws `busy` when too much is asked. */
  ask({ method, params, key: name }: Question, signal: CancelSignal): Promise<ClientAnswer> {
    if (signal.aborted) throw signal.reason;
    const given = this.#takeGiven(name);
    if (given) return Promise.resolve({ kind: 'result', result: given });
    const text = inputRequest(method, params);
    if (this.#questions.size >= LIMITS.asksPerSession || !this.#deps.room.grow(text.length))
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
      this.#tellSoon();
    }).finally(() => {
      this.#questions.delete(key);
      if (!this.#isOver) this.#deps.room.grow(-text.length);
    });
  }

  /** An answer that was given ahead, once: who asks again under the same name was not content with it. */
  #takeGiven(name: string | undefined): Buffer | undefined {
    if (name === undefined || this.#rounds > 0 || this.#taken.has(name)) return undefined;
    const given = this.#deps.answers.get(name);
    if (given) this.#taken.add(name);
    return given;
  }

  /** The name that the backend gave the question, where no other question has it; else one that none has. */
  #keyOf(name: string | undefined): string {
    let key = name;
    while (key === undefined || this.#questions.has(key)) {
      this.#asked += 1;
      key = `q${this.#asked}`;
    }
    return key;
  }

  /** Of the request that waits for the call. */
  get logLevel(): string | undefined {
    return this.#round?.logLevel;
  }

  notify(notification: Buffer): void {
    const round = this.#round;
    const told = round && this.#underTokenOf(round, notification);
    // What is said while the client has the word is heard by nobody.
    if (told) round.notify(told);
  }

  backlog(): Promise<void> | undefined {
    return this.#round?.backlog();
  }

  /** The client comes back. Throws `busy` when it is here already. */
  goOn(round: Round, answers: Answers): void {
    if (this.#round) throw new VmcpError('busy', 'another request goes on with this call already');
    this.#absence?.cancel();
    this.#round = round;
    if (this.#outcome) return this.#give(round, this.#outcome);
    for (const [key, result] of answers) {
      const question = this.#questions.get(key);
      this.#questions.delete(key);
      question?.settle({ kind: 'result', result });
    }
    this.#tellSoon();
  }

  /** The client is not waited for any more. */
  cancel(reason: VmcpError): void {
    if (!this.#round) this.#over();
    this.#deps.cancel(reason);
  }

  /** The call is done. */
  succeed(reply: Reply): void {
    if (this.#isOver) return;
    const isKept = this.#round !== undefined || reply.kind !== 'whole' || this.#deps.room.grow(reply.body?.length ?? 0);
    if (isKept) this.#end((round) => round.answer(underIdOf(round, reply)));
    else this.fail(new VmcpError('busy', 'the answer came while its client was away, and is too large to be kept'));
  }

  fail(error: unknown): void {
    this.#end((round) => round.refuse(error));
  }

  #end(outcome: (round: Round) => void): void {
    if (this.#isOver) return;
    if (this.#round) this.#give(this.#round, outcome);
    else this.#outcome = outcome;
  }

  #give(round: Round, outcome: (round: Round) => void): void {
    this.#over();
    outcome(round);
  }

  /** What is asked in one turn of the event loop is asked together. */
  #tellSoon(): void {
    if (this.#isTelling || !this.#round) return;
    this.#isTelling = true;
    const tell = (): void => {
      this.#isTelling = false;
      this.#tell();
    };
    setImmediate(() => {
      if (this.#deps.isKnown) void this.#deps.isKnown.then(tell);
      else tell();
    });
  }

  #tell(): void {
    const round = this.#round;
    if (!round || this.#isOver || this.#questions.size === 0) return;
    this.#round = undefined;
    this.#rounds += 1;
    const reason = new VmcpError('cancelled', 'the client did not come back with what the backend has asked');
    this.#absence = this.#deps.clock.after(this.#deps.ttlMs, () => this.cancel(reason));
    round.answer({ kind: 'whole', status: 200, body: this.#inputRequired(round.id) });
  }

  #inputRequired(id: Buffer): Buffer {
    const requests = [...this.#questions].map(([key, { text }]) => `${JSON.stringify(key)}:${text.toString()}`);
    const result = `{"resultType":"input_required","inputRequests":{${requests.join(',')}},"requestState":${JSON.stringify(this.state)}}`;
    return Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"result":${result}}`);
  }

  /** Each request of a client may have a token of its own; undefined where the client wants to hear of no progress. */
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
    this.#absence?.cancel();
    for (const { refuse } of this.#questions.values()) refuse(over());
    this.#deps.room.release();
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

import type { Inbound, Reply } from '../../runtime/call/index.ts';
import { clipped } from '../../runtime/text.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { Arrival } from './arrival.ts';
import { BOUNDS } from './bounds.ts';
import { fromClients } from './from-clients.ts';
import type { Greeting } from './handshake.ts';
import { LineReader } from './lines.ts';
import { Run, type RunDeps } from './run.ts';
import type { Link } from './server-process.ts';

export interface MultiplexerDeps extends RunDeps {
  /** A request was refused or has failed. */
  readonly onFailure: (error: VmcpError, request: Pick<Inbound, 'clientAddress' | 'correlationId'>) => void;
}

/** What is no message is told so often, with the number of those between. */
const STRAY_EVERY_MS = 60_000;

/**
 * One stdio server, many HTTP clients. Does no I/O of its own: it is told what the server's container says, and given
 * what clients ask.
 */
export class Multiplexer {
  readonly handle: (request: Inbound) => Promise<Reply>;
  readonly #deps: MultiplexerDeps;
  readonly #lines: LineReader;
  readonly #greeting: Arrival<Greeting>;
  #run: Run;
  #isStopping = false;
  #strayToldAt = Number.NEGATIVE_INFINITY;
  #strayUntold = 0;

  constructor(deps: MultiplexerDeps) {
    this.#deps = deps;
    this.#greeting = new Arrival(deps.clock);
    this.#run = this.#newRun();
    this.#lines = new LineReader(BOUNDS.lineBytes, {
      onLine: (line) => this.#received(line),
      onTooLong: (line) => this.#receivedTooMuch(line),
    });
    this.handle = fromClients({
      clock: deps.clock,
      run: () => this.#run,
      greeting: () => this.#greeted(),
      isStopping: () => this.#isStopping,
      onFailure: deps.onFailure,
    });
  }

  /** The server is attached to, and has said who it is. */
  get isReady(): boolean {
    return this.#run.isReady && !this.#isStopping;
  }

  isSessionKnown(id: string): boolean {
    return this.#run.sessions.isKnown(id);
  }

  /** Attached to a server that was just started: nothing of what was before concerns it. */
  began(link: Link): void {
    this.ended();
    this.#run.attach(link);
  }

  /** Attached again to the server that was there before. */
  resumed(link: Link): void {
    this.#lines.reset();
    // Whatever was cut off in the middle ends here, so that it cannot spoil the next message.
    link.send(NOTHING);
    this.#run.attach(link);
  }

  /** What the server has written to its standard output. */
  output(chunk: Buffer): void {
    this.#lines.push(chunk);
  }

  /** The connection to the server's container is lost, the server may go on. */
  lost(): void {
    this.#run.detach(
      new VmcpError('backend_unreachable', 'the connection to the server’s container was lost; the call may have run'),
    );
  }

  /** The server has ended, and with it what its clients have agreed on with it. */
  ended(): void {
    this.#lines.reset();
    this.#greeting.go();
    this.#run.end(
      new VmcpError('backend_unreachable', 'the server’s container has ended; the call may have run in part'),
    );
    this.#run = this.#newRun();
  }

  /** From now on sessions and streams are refused. */
  refuseNew(): void {
    this.#isStopping = true;
  }

  close(reason: VmcpError): void {
    this.#isStopping = true;
    this.#run.end(reason);
  }

  #newRun(): Run {
    return new Run(this.#deps, (greeting) => this.#greeting.come(greeting));
  }

  async #greeted(): Promise<Greeting> {
    const greeting = await this.#greeting.within(BOUNDS.attachmentMs);
    if (greeting) return greeting;
    throw new VmcpError('backend_unreachable', 'the server’s container is not ready; try again');
  }

  #received(line: Buffer): void {
    try {
      this.#run.process.received(line);
    } catch (error) {
      if (!(error instanceof VmcpError)) throw error;
      this.#stray({ problem: error.message, bytes: line.length, text: clipped(line.toString('utf8', 0, SHOWN_BYTES)) });
    }
  }

  /** Whose answer it was is told by its beginning or its end; the one who waits for it must not wait for ever. */
  #receivedTooMuch({
    head,
    tail,
    bytes,
  }: {
    readonly head: Buffer;
    readonly tail: Buffer;
    readonly bytes: number;
  }): void {
    const id =
      /^\{"jsonrpc":"2\.0","id":(\d+),/.exec(head.toString('latin1')) ?? /"id":(\d+)\}$/.exec(tail.toString('latin1'));
    if (id) {
      const message = `the server’s answer has ${bytes} bytes, more than the ${BOUNDS.lineBytes} that are relayed`;
      this.#run.process.fail(Number(id[1]), new VmcpError('backend_unavailable', message));
    }
    this.#stray({ problem: 'the line is too long', bytes, text: clipped(head.toString('utf8')) });
  }

  #stray(fields: { readonly problem: string; readonly bytes: number; readonly text: string }): void {
    const now = this.#deps.clock.now();
    if (now - this.#strayToldAt < STRAY_EVERY_MS) {
      this.#strayUntold += 1;
      return;
    }
    const untold = this.#strayUntold;
    this.#strayToldAt = now;
    this.#strayUntold = 0;
    this.#deps.log.warn(
      { ...fields, ...(untold > 0 && { untold }) },
      'the server has written to its standard output what is no message',
    );
  }
}

const NOTHING = Buffer.alloc(0);
const SHOWN_BYTES = 400;

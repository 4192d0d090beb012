import type { Inbound, Reply } from '../../runtime/call/index.ts';
import { clipped } from '../../runtime/text.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { WaitableValue } from './waitable-value.ts';
import { BOUNDS } from './bounds.ts';
import { fromClients } from './from-clients.ts';
import type { InitializeResult } from './handshake.ts';
import { LineReader } from './lines.ts';
import { Run, type RunDeps } from './run.ts';
import type { Link } from './server-process.ts';

export interface MultiplexerDeps extends RunDeps {
  /** A request was refused or has failed. */
  readonly onFailure: (error: VmcpError, request: Pick<Inbound, 'clientAddress' | 'correlationId'>) => void;
}

/** Output that is no message is logged at this interval, with the number of further lines since. */
const INVALID_OUTPUT_LOG_INTERVAL_MS = 60_000;

/**
 * One stdio server for many HTTP clients. Does no I/O of its own: it is given the container's output and the clients'
 * requests.
 */
export class Multiplexer {
  readonly handle: (request: Inbound) => Promise<Reply>;
  readonly #deps: MultiplexerDeps;
  readonly #lines: LineReader;
  readonly #initializeResult: WaitableValue<InitializeResult>;
  #run: Run;
  #isStopping = false;
  #invalidOutputLoggedAt = Number.NEGATIVE_INFINITY;
  #invalidOutputUnlogged = 0;

  constructor(deps: MultiplexerDeps) {
    this.#deps = deps;
    this.#initializeResult = new WaitableValue(deps.clock);
    this.#run = this.#newRun();
    this.#lines = new LineReader(BOUNDS.lineBytes, {
      onLine: (line) => this.#received(line),
      onTooLong: (line) => this.#receivedTooMuch(line),
    });
    this.handle = fromClients({
      clock: deps.clock,
      run: () => this.#run,
      initializeResult: () => this.#awaitInitialized(),
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
    this.#initializeResult.clear();
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
    return new Run(this.#deps, (greeting) => this.#initializeResult.set(greeting));
  }

  async #awaitInitialized(): Promise<InitializeResult> {
    const greeting = await this.#initializeResult.waitAtMost(BOUNDS.attachmentMs);
    if (greeting) return greeting;
    throw new VmcpError('backend_unreachable', 'the server’s container is not ready; try again');
  }

  #received(line: Buffer): void {
    try {
      this.#run.process.received(line);
    } catch (error) {
      if (!(error instanceof VmcpError)) throw error;
      this.#logInvalidOutput({
        problem: error.message,
        bytes: line.length,
        text: clipped(line.toString('utf8', 0, SHOWN_BYTES)),
      });
    }
  }

  /** The id at the beginning or the end of the line names the request, which fails instead of waiting for ever. */
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
    this.#logInvalidOutput({ problem: 'the line is too long', bytes, text: clipped(head.toString('utf8')) });
  }

  #logInvalidOutput(fields: { readonly problem: string; readonly bytes: number; readonly text: string }): void {
    const now = this.#deps.clock.now();
    if (now - this.#invalidOutputLoggedAt < INVALID_OUTPUT_LOG_INTERVAL_MS) {
      this.#invalidOutputUnlogged += 1;
      return;
    }
    const untold = this.#invalidOutputUnlogged;
    this.#invalidOutputLoggedAt = now;
    this.#invalidOutputUnlogged = 0;
    this.#deps.log.warn(
      { ...fields, ...(untold > 0 && { untold }) },
      'the server has written to its standard output what is no message',
    );
  }
}

const NOTHING = Buffer.alloc(0);
const SHOWN_BYTES = 400;

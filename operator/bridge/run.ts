import { abortAfter, type Clock, type Timer } from '../../runtime/process/index.ts';
import type { VmcpError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/observe/index.ts';
import { errorText } from '../observe/log.ts';
import { BOUNDS } from './bounds.ts';
import type { ClientSession } from './client-session.ts';
import { ClientSessions } from './client-sessions.ts';
import { FromServer } from './from-server.ts';
import { type InitializeResult, parseInitializeResult, initializeRequest } from './handshake.ts';
import { notificationOf, requestOf } from './messages.ts';
import { type Link, ServerProcess } from './server-process.ts';

export type BridgeLog = Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;

export interface RunDeps {
  readonly clock: Clock;
  readonly log: BridgeLog;
  /** At least 128 random bits. */
  readonly newSessionId: () => string;
  /** Of the bridge. */
  readonly version: string;
}

/** After an `initialize` that the server did not answer, or answered with what cannot be used. */
const AGAIN_MS = 10_000;

/**
 * One run of the server's program, and the sessions of its clients: they end with it, since what they have agreed on
 * with it is gone.
 */
export class Run {
  readonly process: ServerProcess<ClientSession>;
  readonly sessions: ClientSessions;
  readonly #deps: RunDeps;
  readonly #fromServer: FromServer;
  readonly #onInitialized: (greeting: InitializeResult) => void;
  #isInitialized = false;
  #initializing: AbortController | undefined;
  #again: Timer | undefined;

  /** `onGreeting` gets the server's result of `initialize`. */
  constructor(deps: RunDeps, onGreeting: (greeting: InitializeResult) => void) {
    this.#deps = deps;
    this.#onInitialized = onGreeting;
    this.sessions = new ClientSessions({
      clock: deps.clock,
      newId: deps.newSessionId,
      onEnd: (session) => this.unsubscribe([...session.subscriptions]),
    });
    this.#fromServer = new FromServer({
      all: () => this.sessions.all(),
      soleAsker: () => this.process.soleAsker(),
      soleCaller: () => this.process.soleCaller(),
      isIdle: () => this.process.isIdle,
      tellServer: (message) => void this.process.tell(message),
    });
    const { onRequest, onNotification } = this.#fromServer;
    this.process = new ServerProcess({ clock: deps.clock, onRequest, onNotification });
  }

  get isReady(): boolean {
    return this.process.isAttached && this.#isInitialized;
  }

  attach(link: Link): void {
    this.process.attach(link);
    // It is not known whether an `initialize` has arrived whose answer was lost: better twice than never.
    if (!this.#isInitialized) void this.#initialize();
  }

  detach(reason: VmcpError): void {
    this.#again?.cancel();
    this.process.detach(reason);
  }

  end(reason: VmcpError): void {
    this.detach(reason);
    this.#initializing?.abort(reason);
    this.#fromServer.forget();
    this.sessions.close();
  }

  /** Unsubscribes the server from resources that no other client subscribes to. */
  unsubscribe(uris: readonly string[]): void {
    for (const uri of uris) {
      if ([...this.sessions.all()].some(({ subscriptions }) => subscriptions.has(uri))) continue;
      const envelope = requestOf('resources/unsubscribe', { uri });
      if (this.process.isAttached)
        this.process.ask({ envelope }, abortAfter(this.#deps.clock, BOUNDS.handshakeMs)).catch(() => {});
    }
  }

  async #initialize(): Promise<void> {
    const { clock, log, version } = this.#deps;
    const greeted = new AbortController();
    this.#initializing = greeted;
    const signal = AbortSignal.any([greeted.signal, abortAfter(clock, BOUNDS.handshakeMs)]);
    try {
      const greeting = parseInitializeResult(await this.process.ask({ envelope: initializeRequest(version) }, signal));
      this.process.tell(notificationOf('notifications/initialized'));
      this.#isInitialized = true;
      this.#onInitialized(greeting);
      log.info({ server: greeting['serverInfo'] }, 'the server is initialized');
    } catch (error) {
      // The next attachment initializes again.
      if (greeted.signal.aborted || !this.process.isAttached) return;
      log.warn({ reason: errorText(error) }, 'the server cannot be initialized; another try follows');
      this.#again = clock.after(AGAIN_MS, () => void this.#initialize());
    }
  }
}

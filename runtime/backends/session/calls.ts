import type { SessionClient } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import type { IdleTimeout } from '../../outgoing/index.ts';
import { isWantedBy, type CallStreamClient } from '../messages/call-stream.ts';
import { readServerMessage } from '../messages/server-message.ts';

/** The part of a call that its session uses. */
export interface SessionCall {
  readonly client?: CallStreamClient;
}

/**
 * The calls of one session that are under way. A message that a backend sends on the stream of the session, and not on
 * that of a call, is about one of them; which one is clear only while there is no other.
 */
export class SessionCalls {
  readonly #underWay = new Map<SessionCall, IdleTimeout>();

  begin(call: SessionCall, idleTimeout: IdleTimeout): void {
    this.#underWay.set(call, idleTimeout);
  }

  end(call: SessionCall): void {
    this.#underWay.delete(call);
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** Pauses the idle timeouts of all calls until the returned function is called. */
  readonly pause = (): (() => void) => {
    const goOn = [...this.#underWay.values()].map((idleTimeout) => idleTimeout.pause());
    return () => {
      for (const each of goOn) each();
    };
  };

  /** The client of the only call under way; while there are several, notifications are dropped and requests refused. */
  readonly onlyClient: Pick<SessionClient, 'ask' | 'notify' | 'logLevel'> = {
    logLevel: undefined,
    notify: (notification) => {
      const client = this.#only;
      const message = readServerMessage(notification);
      if (client && message?.kind === 'notification' && isWantedBy(client, notification, message))
        client.notify(notification);
    },
    ask: (question, signal) => {
      const client = this.#only;
      if (!client) throw new VmcpError('client_cannot_answer', 'it is not clear which call the question is about');
      return client.ask(question, signal);
    },
  };

  get #only(): CallStreamClient | undefined {
    const [first, second] = this.#underWay.keys();
    return second ? undefined : first?.client;
  }
}

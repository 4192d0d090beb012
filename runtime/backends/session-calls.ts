import type { SessionClient } from '../call.ts';
import { VmcpError } from '../errors.ts';
import type { Attention } from '../outgoing/index.ts';
import { isWantedBy, type HeardBy } from './call-stream.ts';
import { readServerMessage } from './server-message.ts';

/** A call, as far as its session has to do with it. */
export interface SessionCall {
  readonly client?: HeardBy;
}

/**
 * The calls of one session that are under way. What a backend asks or tells on the stream of the session, and not on that of a call, is
 * about one of them: which, can be told only while there is no other.
 */
export class SessionCalls {
  readonly #underWay = new Map<SessionCall, Attention>();

  begin(call: SessionCall, attention: Attention): void {
    this.#underWay.set(call, attention);
  }

  end(call: SessionCall): void {
    this.#underWay.delete(call);
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** Stops their clocks, until the returned function is called. */
  readonly pause = (): (() => void) => {
    const goOn = [...this.#underWay.values()].map((attention) => attention.pause());
    return () => {
      for (const each of goOn) each();
    };
  };

  /** Whoever makes the only call under way; nobody while there are several. */
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

  get #only(): HeardBy | undefined {
    const [first, second] = this.#underWay.keys();
    return second ? undefined : first?.client;
  }
}

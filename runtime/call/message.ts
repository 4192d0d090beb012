import type { Call } from './call.ts';
import type { Reply } from './reply.ts';

/** A request after its envelope was read. */
export type Message =
  /** A call to a target; `end` is called when the call is over, whether it succeeded or not. */
  | {
      readonly kind: 'call';
      readonly id: Buffer;
      readonly call: Call;
      readonly end: () => void;
      /** Converts the target's answer for this client; absent: the answer is relayed unchanged. */
      readonly finish?: (reply: Reply) => Reply;
    }
  /** Answered by the gateway: the handshake, lists, notifications, streams. */
  | {
      readonly kind: 'local';
      readonly id: Buffer | undefined;
      /** The client's method; `response` for a response, `GET` and `DELETE` for requests without a message. */
      readonly method: string;
      readonly answer: () => Reply | Promise<Reply>;
    };

/** The method of a message, as in `Message`. */
export const methodOf = (message: Message): string => (message.kind === 'call' ? message.call.method : message.method);

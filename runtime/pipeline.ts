import type { Call, Caller, Inbound, Message, Reply, Target } from './call.ts';
import type { Fetch } from './outgoing/index.ts';

/** The steps of a request; each room supplies its own, `assemble.ts` joins them. A step refuses by throwing a VmcpError. */
export interface Stages {
  readonly audit: Around;
  readonly trace: Around;
  readonly authenticate: (request: Inbound) => Caller | Promise<Caller>;
  /** A promise only where something must be waited for, as a session kept elsewhere. */
  readonly parse: (request: Inbound, caller: Caller) => Message | Promise<Message>;
  /** Which backend a name leads to; unknown and hidden names are refused alike. */
  readonly lookUp: (call: Call) => Target | Promise<Target>;
  readonly authorize: (call: Call, target: Target) => void | Promise<void>;
  readonly limit: (call: Call, target: Target) => void | Promise<void>;
  /** Proves to the backend who is calling. */
  readonly outgoingAuth: (caller: Caller, target: Target) => (next: Fetch) => Fetch;
  readonly backend: (call: Call, target: Target, prove: (next: Fetch) => Fetch) => Promise<Reply>;
  /** The answer to a request that could be read and is refused, or has failed. */
  readonly refuse: (error: unknown, message: Message, request: Inbound) => Reply;
}

export type Around = (request: Inbound, next: () => Promise<Reply>) => Promise<Reply>;

/** The way of every request: audit( trace( authenticate → parse → look up → authorize → limit → outgoing auth → backend )). */
export const pipeline =
  (stages: Stages) =>
  (request: Inbound): Promise<Reply> =>
    stages.audit(request, () =>
      stages.trace(request, async () => {
        const known = stages.authenticate(request);
        const caller = known instanceof Promise ? await known : known;
        const parsed = stages.parse(request, caller);
        const message = parsed instanceof Promise ? await parsed : parsed;
        try {
          if (message.kind === 'local') return await message.answer();
          const reply = await dispatch(stages, message.call);
          return message.finish ? message.finish(reply) : reply;
        } catch (error) {
          return stages.refuse(error, message, request);
        } finally {
          if (message.kind === 'call') message.end();
        }
      }),
    );

/**
 * The way of every call, a client's own as well as an inner one of a workflow, so that policy, limits and audit see both alike. A step that
 * refuses without waiting makes this throw: to be called where that is caught.
 */
export const dispatch = (stages: Stages, call: Call): Promise<Reply> =>
  after(stages.lookUp(call), (target) =>
    after(stages.authorize(call, target), () =>
      after(stages.limit(call, target), () => stages.backend(call, target, stages.outgoingAuth(call.caller, target))),
    ),
  );

/** Goes on at once where nothing has to be waited for. */
const after = <T>(step: T | Promise<T>, goOn: (value: T) => Promise<Reply>): Promise<Reply> =>
  step instanceof Promise ? step.then(goOn) : goOn(step);

import type { Admit } from './admission.ts';
import type { Call, Caller, Inbound, Message, Reply, RequestHead, Target } from './call.ts';

/** The steps of a request; each room supplies its own, `assemble.ts` joins them. A step refuses by throwing a VmcpError. */
export interface Stages {
  readonly audit: AroundRequest;
  readonly trace: AroundRequest;
  /** By the head alone, so that the body of somebody who is refused is never held. Once for each request. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  /** A promise only where something must be waited for, as a session kept elsewhere. */
  readonly parse: (request: Inbound, caller: Caller) => Message | Promise<Message>;
  readonly aroundCall: AroundCall;
  readonly admit: Admit;
  /** Has the target answer the call; `dispatch` is the way of what it calls itself. */
  readonly serve: (call: Call, target: Target, dispatch: Dispatch) => Promise<Reply>;
  /** The answer to a request that could be read and is refused, or has failed. */
  readonly refuse: (error: unknown, message: Message, request: Inbound) => Reply;
}

/** What is known of a request so far; filled in on its way, for those who observe it. */
export interface RequestRecord {
  readonly request: Inbound;
  caller: Caller | undefined;
  message: Message | undefined;
}

/** `next` rejects where the request is refused before it could be read. */
export type AroundRequest = (record: RequestRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** What is known of a call so far. */
export interface CallRecord {
  /** Where its name leads; undefined until it is admitted, and where it is not. */
  target: Target | undefined;
}

/** Sees every call, inner ones too, and how it ends. `next` throws or rejects where the call is refused or fails. */
export type AroundCall = (call: Call, record: CallRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** May throw at once where a step refuses without waiting: to be called where that is caught. */
export type Dispatch = (call: Call) => Promise<Reply>;

/** The way of every request: audit( trace( authenticate → receive → parse → admit( look up → authorize → limit ) → serve )). */
export const pipeline = (stages: Stages): ((request: Inbound) => Promise<Reply>) => {
  const dispatch = dispatcher(stages);
  return (request) => {
    const record: RequestRecord = { request, caller: undefined, message: undefined };
    return stages.audit(record, () => stages.trace(record, () => handle(stages, record, dispatch)));
  };
};

const handle = async (stages: Stages, record: RequestRecord, dispatch: Dispatch): Promise<Reply> => {
  const { request } = record;
  const known = stages.authenticate(request);
  const caller = known instanceof Promise ? await known : known;
  record.caller = caller;
  const received = request.receive(caller);
  if (received) await received;
  const parsed = stages.parse(request, caller);
  const message = parsed instanceof Promise ? await parsed : parsed;
  record.message = message;
  try {
    if (message.kind === 'local') return await message.answer();
    const reply = await dispatch(message.call);
    return message.finish ? message.finish(reply) : reply;
  } catch (error) {
    return stages.refuse(error, message, request);
  } finally {
    if (message.kind === 'call') message.end();
  }
};

/** The way of every call, a client's own as well as an inner one of a workflow, so that policy, limits and audit see both alike. */
export const dispatcher = ({ aroundCall, admit, serve }: Pick<Stages, 'aroundCall' | 'admit' | 'serve'>): Dispatch => {
  const dispatch: Dispatch = (call) => {
    const record: CallRecord = { target: undefined };
    const goOn = (target: Target): Promise<Reply> => {
      record.target = target;
      return serve(call, target, dispatch);
    };
    return aroundCall(call, record, () => {
      const target = admit(call);
      return target instanceof Promise ? wanted(call, target).then(goOn) : goOn(target);
    });
  };
  return dispatch;
};

/** Waits for a step no longer than somebody wants the call. */
const wanted = <T>({ signal }: Call, step: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    const over = (): void => signal.removeEventListener('abort', giveUp);
    // Before anything else: a refusal that nobody hears would end the process.
    step.then(resolve, reject).then(over, over);
    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp);
  });

import { accessEnded } from './call/index.ts';
import type {
  Admit,
  AroundCall,
  AroundRequest,
  Call,
  Caller,
  CallRecord,
  Dispatch,
  Inbound,
  Message,
  Reply,
  RequestHead,
  RequestRecord,
  Target,
} from './call/index.ts';
import { untilAborted } from './process/index.ts';

/**
 * The steps of a request; each room supplies its own, `assemble.ts` joins them. A step refuses by throwing a VmcpError.
 */
export interface Stages {
  readonly audit: AroundRequest;
  readonly trace: AroundRequest;
  /** Called once for each request, with the head alone, so that the body of a refused request is never held. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  /** Returns a promise only where something has to be awaited, such as a session in the store. */
  readonly parse: (request: Inbound, caller: Caller) => Message | Promise<Message>;
  readonly aroundCall: AroundCall;
  readonly admit: Admit;
  /** Lets the target answer the call. */
  readonly serve: (call: Call, target: Target, of: Served) => Promise<Reply>;
  /** The answer to a request that was read and then refused, or has failed. */
  readonly refuse: (error: unknown, message: Message, request: Inbound) => Reply;
}

/** What belongs to a call that is served. */
export interface Served {
  /** Sends the target's inner calls. */
  readonly dispatch: Dispatch;
  readonly record: CallRecord;
}

/**
 * The steps of every request: audit( trace( authenticate → receive → parse → admit( look up → authorize → limit ) →
 * serve )).
 */
export const pipeline = (stages: Stages): ((request: Inbound) => Promise<Reply>) => {
  const dispatch = dispatcher(stages);
  return (request) => {
    const record: RequestRecord = { request, caller: undefined, message: undefined, call: undefined };
    return stages.audit(record, () => stages.trace(record, () => handle(stages, record, dispatch)));
  };
};

const handle = async (stages: Stages, record: RequestRecord, dispatch: Dispatch): Promise<Reply> => {
  const { request } = record;
  const known = stages.authenticate(request);
  const caller = known instanceof Promise ? await known : known;
  record.caller = caller;
  const received = request.receive(caller);
  if (received) {
    await received;
    // However long it took.
    if (caller.kind === 'user' && caller.isWithdrawn?.()) throw accessEnded();
  }
  const parsed = stages.parse(request, caller);
  const message = parsed instanceof Promise ? await parsed : parsed;
  record.message = message;
  try {
    if (message.kind === 'local') return await message.answer();
    const reply = await dispatch(message.call, record);
    return message.finish ? message.finish(reply) : reply;
  } catch (error) {
    return stages.refuse(error, message, request);
  } finally {
    if (message.kind === 'call') message.end();
  }
};

/**
 * The steps of every call, of a client as well as of a workflow, so that policies, limits and audit treat both alike.
 */
export const dispatcher = ({ aroundCall, admit, serve }: Pick<Stages, 'aroundCall' | 'admit' | 'serve'>): Dispatch => {
  const dispatch: Dispatch = (call, of) => {
    const record: CallRecord = { request: of, target: undefined, decision: undefined };
    if (of && call.depth === 0) of.call = record;
    const dispatchInner: Dispatch = (inner) => dispatch(inner, of);
    const goOn = (target: Target): Promise<Reply> => serve(call, target, { dispatch: dispatchInner, record });
    return aroundCall(call, record, () => {
      const target = admit(call, record);
      return target instanceof Promise ? untilAborted(call.signal, target).then(goOn) : goOn(target);
    });
  };
  return dispatch;
};

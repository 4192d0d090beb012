import type { Inbound, Reply } from '../../runtime/call.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Envelope, readEnvelope } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { isLogLevel, isSevereEnough, LOG_LEVELS } from '../../runtime/log-levels.ts';
import { BOUNDS } from './bounds.ts';
import type { ClientSession } from './client-session.ts';
import { paramOf, resultOf, withId, withParam } from './messages.ts';
import type { Run } from './run.ts';

export interface RequestDeps {
  readonly clock: Clock;
  readonly run: () => Run;
}

/** A request of a client that has a session. */
interface Arrival {
  readonly envelope: Envelope;
  readonly request: Inbound;
}

type Handler = (deps: RequestDeps, session: ClientSession, arrival: Arrival) => Reply | Promise<Reply>;

/** What the clients of one server cannot each have for themselves, and so is seen to here. */
const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['ping', (_deps, _session, { envelope }) => emptyAnswer(envelope)],
  ['logging/setLevel', (...args) => setLevel(...args)],
  ['resources/subscribe', (...args) => subscribe(...args)],
  ['resources/unsubscribe', (...args) => unsubscribe(...args)],
]);

export const requestIn: Handler = (deps, session, arrival) => {
  const { method } = arrival.envelope;
  // They belong to a connection, and that is everybody's.
  if (method.startsWith('tasks/')) throw new VmcpError('method_not_found', 'method not found');
  return (HANDLERS.get(method) ?? relay)(deps, session, arrival);
};

const relay: Handler = async (deps, session, { envelope, request }) => {
  const { process, sessions } = deps.run();
  const id = envelope.id ?? Buffer.from('null');
  const { signal, end } = session.begin(id, request.send);
  const timer = deps.clock.after(BOUNDS.callMs, () => session.cancel(id, tooLong()));
  const onProgress = (notification: Buffer): void =>
    void (request.send(notification) || session.tellInCall(notification));
  try {
    const response = await process.ask({ envelope, owner: session, onProgress }, signal);
    return { kind: 'whole', status: 200, body: withId(response.body, id) };
  } finally {
    timer.cancel();
    end();
    if (session.isIdle) sessions.touch(session);
  }
};

const tooLong = (): VmcpError =>
  new VmcpError('backend_timeout', `the server has not answered within ${BOUNDS.callMs / 60_000} minutes`);

const emptyAnswer = ({ id = Buffer.from('null') }: Envelope): Reply => ({
  kind: 'whole',
  status: 200,
  body: resultOf(id, Buffer.from('{}')),
});

/** The server has one level: that of whoever wants most. What is too little for another is left out on the way to it. */
const setLevel: Handler = (deps, session, { envelope, request }) => {
  const level = paramOf(envelope, 'level');
  if (!isLogLevel(level)) throw new VmcpError('invalid_params', `params.level is none of ${LOG_LEVELS.join(', ')}`);
  session.logLevel = level;
  const wanted = [...deps.run().sessions.all()].flatMap(({ logLevel }) => logLevel ?? []);
  const most = wanted.reduce((least, other) => (isSevereEnough(other, least) ? least : other), level as string);
  const asMost = readEnvelope(withParam(envelope, 'level', Buffer.from(JSON.stringify(most))));
  return relay(deps, session, { envelope: asMost, request });
};

const subscribe: Handler = (deps, session, arrival) => {
  const uri = uriOf(arrival);
  if (session.subscriptions.size >= BOUNDS.subscriptionsPerSession && !session.subscriptions.has(uri))
    throw new VmcpError('busy', 'too many subscriptions; end one');
  // Before the answer: an update may come right after it.
  session.subscriptions.add(uri);
  return relay(deps, session, arrival);
};

/** Others may listen to the same resource. */
const unsubscribe: Handler = (deps, session, arrival) => {
  const uri = uriOf(arrival);
  session.subscriptions.delete(uri);
  const isWanted = [...deps.run().sessions.all()].some(({ subscriptions }) => subscriptions.has(uri));
  return isWanted ? emptyAnswer(arrival.envelope) : relay(deps, session, arrival);
};

const uriOf = ({ envelope }: Arrival): string => {
  const uri = paramOf(envelope, 'uri');
  if (typeof uri !== 'string') throw new VmcpError('invalid_params', 'params.uri is missing or not a string');
  return uri;
};

import type { Inbound, Reply } from '../../runtime/call/index.ts';
import type { Clock } from '../../runtime/process/index.ts';
import { type Envelope, readEnvelope } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { isLogLevel, isSevereEnough, LOG_LEVELS } from '../../runtime/mcp/index.ts';
import { BOUNDS } from './bounds.ts';
import type { ClientSession } from './client-session.ts';
import { paramOf, resultOf, withId, withParam } from './messages.ts';
import type { Run } from './run.ts';

export interface RequestDeps {
  readonly clock: Clock;
  readonly run: () => Run;
}

/** A request of a client that has a session. */
interface ClientRequest {
  readonly envelope: Envelope;
  readonly request: Inbound;
}

type Handler = (deps: RequestDeps, session: ClientSession, arrival: ClientRequest) => Reply | Promise<Reply>;

/** What the clients of one server cannot each have for themselves, and so is seen to here. */
const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['ping', (_deps, _session, { envelope }) => emptyAnswer(envelope)],
  ['logging/setLevel', (...args) => setLevel(...args)],
  ['resources/subscribe', (...args) => subscribe(...args)],
  ['resources/unsubscribe', (...args) => unsubscribe(...args)],
]);

/** Answers one request of a client, by the bridge itself or by the server. Throws VmcpError where it is refused. */
export const requestIn: Handler = (deps, session, arrival) => {
  const { method } = arrival.envelope;
  // Tasks of 2025-11-25 belong to a connection, which all clients share here.
  if (method.startsWith('tasks/')) throw new VmcpError('method_not_found', 'method not found');
  return (HANDLERS.get(method) ?? relay)(deps, session, arrival);
};

const relay: Handler = async (deps, session, arrival) => replyTo(arrival, await answerOf(deps, session, arrival));

const replyTo = ({ envelope: { id = NULL } }: ClientRequest, { body }: Envelope): Reply => ({
  kind: 'whole',
  status: 200,
  body: withId(body, id),
});

/** As the server gives it, under an id of ours. */
const answerOf = async (
  deps: RequestDeps,
  session: ClientSession,
  { envelope, request }: ClientRequest,
): Promise<Envelope> => {
  const { process, sessions } = deps.run();
  const id = envelope.id ?? NULL;
  const { signal, turn, end } = session.begin(id, (message) => request.send(message));
  const cancelled = new AbortController();
  signal.addEventListener('abort', () => cancelled.abort(signal.reason));
  const timer = deps.clock.after(BOUNDS.callMs, () => session.cancel(id, tooLong()));
  const onProgress = (notification: Buffer): void =>
    void (request.send(notification) || session.notifyInCall(notification));
  try {
    await turn;
    return await process.ask({ envelope, owner: session, onProgress }, cancelled.signal);
  } finally {
    timer.cancel();
    end();
    if (session.isIdle) sessions.markUsed(session);
  }
};

const NULL = Buffer.from('null');

const tooLong = (): VmcpError =>
  new VmcpError('backend_timeout', `the server has not answered within ${BOUNDS.callMs / 60_000} minutes`);

const emptyAnswer = ({ id = NULL }: Envelope): Reply => ({
  kind: 'whole',
  status: 200,
  body: resultOf(id, Buffer.from('{}')),
});

/**
 * The server has one log level: the most verbose one that a client asked for. Messages below a client's own level are
 * filtered on the way to it.
 */
const setLevel: Handler = (deps, session, { envelope, request }) => {
  const level = paramOf(envelope, 'level');
  if (!isLogLevel(level)) throw new VmcpError('invalid_params', `params.level is none of ${LOG_LEVELS.join(', ')}`);
  session.logLevel = level;
  const wanted = [...deps.run().sessions.all()].flatMap(({ logLevel }) => logLevel ?? []);
  const most = wanted.reduce((least, other) => (isSevereEnough(other, least) ? least : other), level as string);
  const asMost = readEnvelope(withParam(envelope, 'level', Buffer.from(JSON.stringify(most))));
  return relay(deps, session, { envelope: asMost, request });
};

const subscribe: Handler = async (deps, session, arrival) => {
  const uri = uriOf(arrival);
  const run = deps.run();
  if (!session.subscriptions.has(uri)) refuseTooMany(run, uri);
  // Before the answer: an update may come right after it.
  const isNew = session.subscriptions.add(uri);
  try {
    const answer = await answerOf(deps, session, arrival);
    if (isNew && answer.error) session.subscriptions.delete(uri);
    return replyTo(arrival, answer);
  } catch (error) {
    // The server may have received it; a session that has ended ends its subscriptions itself.
    if (isNew && run.sessions.isKnown(session.id)) {
      session.subscriptions.delete(uri);
      run.unsubscribe([uri]);
    }
    throw error;
  }
};

const refuseTooMany = ({ sessions }: Run, uri: string): void => {
  let bytes = Buffer.byteLength(uri);
  for (const { subscriptions } of sessions.all()) bytes += subscriptions.bytes;
  if (bytes > BOUNDS.subscriptionBytesTogether)
    throw new VmcpError('overloaded', 'the clients of this server have too many subscriptions; try again later');
};

/** Others may listen to the same resource. */
const unsubscribe: Handler = (deps, session, arrival) => {
  const uri = uriOf(arrival);
  session.subscriptions.delete(uri);
  const isWanted = [...deps.run().sessions.all()].some(({ subscriptions }) => subscriptions.has(uri));
  return isWanted ? emptyAnswer(arrival.envelope) : relay(deps, session, arrival);
};

const uriOf = ({ envelope }: ClientRequest): string => {
  const uri = paramOf(envelope, 'uri');
  if (typeof uri !== 'string') throw new VmcpError('invalid_params', 'params.uri is missing or not a string');
  return uri;
};

import { type Call, type Reply, workflowTaskId } from '../call/index.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import { isObject, memberAt, withMembers } from '../json/index.ts';
import type { Refuse } from './leg.ts';
import { replied } from './replies.ts';
import { type EndedTask, type TaskQuestion, type TaskRecord, type TaskRef, ttlMsOf } from './task-records.ts';

/** How often a client should ask after a task. */
const POLL_MS = 1_000;

/** The answer to a call that has become a task (MCP Tasks, `CreateTaskResult`). */
export const createdReply = (call: Call, ref: TaskRef, record: TaskRecord): Reply =>
  replied(call, JSON.stringify({ resultType: 'task', ...taskOf(ref, record) }));

/** The answer to `tasks/get`. */
export const taskReply = (call: Call, ref: TaskRef, record: TaskRecord): Reply => {
  const { state } = record;
  const text = JSON.stringify({
    resultType: 'complete',
    ...taskOf(ref, record),
    ...(state.kind === 'waiting' && { inputRequests: requestsOf(state.requests) }),
  });
  if (state.kind !== 'ended' || state.outcome === undefined) return replied(call, text);
  const member = state.status === 'completed' ? 'result' : 'error';
  return replied(call, `${text.slice(0, -1)},"${member}":${state.outcome}}`);
};

/** The answer to `tasks/update` and `tasks/cancel`. */
export const acknowledged = (call: Call): Reply => replied(call, '{"resultType":"complete"}');

const taskOf = (ref: TaskRef, record: TaskRecord): object => ({
  taskId: workflowTaskId(ref),
  status: statusOf(record),
  ...(record.state.kind === 'ended' && record.state.message !== undefined && { statusMessage: record.state.message }),
  createdAt: new Date(record.createdAt).toISOString(),
  lastUpdatedAt: new Date(record.updatedAt).toISOString(),
  ttlMs: ttlMsOf(record),
  pollIntervalMs: POLL_MS,
});

const statusOf = ({ state }: TaskRecord): string => {
  if (state.kind === 'ended') return state.status;
  return state.kind === 'waiting' ? 'input_required' : 'working';
};

const requestsOf = (requests: Readonly<Record<string, TaskQuestion>>): object =>
  Object.fromEntries(Object.entries(requests).map(([key, { request }]) => [key, request]));

/** What has become of a task that an error has ended, as its call would have been answered. */
export const endedBy = (thrown: unknown, call: Call, refuse: Refuse): EndedTask => {
  const error = asVmcpError(thrown);
  const { message } = error;
  const reply = refuse(error, call);
  const body = reply.kind === 'whole' ? reply.body : undefined;
  if (!body) return { kind: 'ended', status: 'cancelled', message };
  const result = memberIn(body, 'result');
  if (result !== undefined) return completed(result);
  const outcome = memberIn(body, 'error') ?? JSON.stringify({ code: -32_603, message });
  return { kind: 'ended', status: 'failed', outcome, message };
};

/** `result`: JSON text of an object. The client of the extension reads it as it reads the result of a call. */
export const completed = (result: string): EndedTask => {
  const bytes = Buffer.from(result);
  if (memberAt(bytes, 0, 'resultType')) return { kind: 'ended', status: 'completed', outcome: result };
  const outcome = withMembers(bytes, ['"resultType":"complete"']).toString();
  return { kind: 'ended', status: 'completed', outcome };
};

const memberIn = (body: Buffer, name: string): string | undefined => {
  const span = memberAt(body, 0, name);
  return span && isObject(body, span.start) ? body.toString('utf8', span.start, span.end) : undefined;
};

export const unknownTask = (): VmcpError => new VmcpError('unknown_name', 'unknown task');

export const taskEnded = ({ workflow }: TaskRef, why: string): VmcpError =>
  new VmcpError('workflow_failed', `"${workflow}" ended: ${why}`, { data: { workflow } });

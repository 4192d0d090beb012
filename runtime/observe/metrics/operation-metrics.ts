import {
  type CallRecord,
  errorIn,
  type Message,
  methodOf,
  type PolicyDecision,
  type Reply,
  type RequestRecord,
} from '../../call/index.ts';
import { asVmcpError } from '../../errors.ts';
import { CLIENT_METHODS } from '../../mcp/index.ts';
import type { Observers } from '../observers.ts';
import { type Meter, OPERATION_SECONDS } from './meter.ts';

/** Messages without a method of their own: answers of clients, and HTTP requests without a message. */
const NO_OPERATION: ReadonlySet<string> = new Set(['response', 'GET', 'DELETE']);

/** Measures every request, every call to a backend, and what policies decide. `now`: milliseconds. */
export const operationMetrics = (meter: Meter, now: () => number): Partial<Observers> => {
  const served = meter.histogram({
    name: 'mcp.server.operation.duration',
    help: 'Time from the head of a request or notification of a client to its answer.',
    unit: 's',
    labels: ['mcp.method.name', 'gen_ai.tool.name', 'gen_ai.prompt.name', 'error.type'],
    buckets: OPERATION_SECONDS,
  });
  const sent = meter.histogram({
    name: 'mcp.client.operation.duration',
    help: 'Time from a call to a backend to its answer.',
    unit: 's',
    labels: ['mcp.method.name', 'vmcp.backend.name', 'error.type'],
    buckets: OPERATION_SECONDS,
  });
  const decided = meter.counter({
    name: 'vmcp.policy.decisions',
    help: 'Decisions of policies about calls and watches.',
    labels: ['vmcp.policy.decision', 'vmcp.policy.dry_run'],
  });
  const countDecision = (record: CallRecord | undefined): void => {
    if (record?.decision) decided(decisionLabels(record.decision));
  };
  let active = 0;
  meter.gauge({ name: 'vmcp.requests.active', help: 'Requests that wait for their answer.' }, () => active);
  return {
    trace: async (record, next) => {
      const began = now();
      active += 1;
      let reply: Reply | undefined;
      try {
        reply = await next();
        return reply;
      } finally {
        active -= 1;
        if (record.call) countDecision(record.call);
        const labels = record.message && operationOf(record, record.message, reply);
        if (labels) served(secondsSince(began, now), labels);
      }
    },
    // The decision about a client's own call is counted with its request.
    aroundCall: (call, record, next) => (call.depth === 0 ? next() : afterwards(next, () => countDecision(record))),
    onDecided: ({ record }) => countDecision(record),
    aroundBackendCall: async (call, { backend }, next) => {
      const began = now();
      let error: string | undefined;
      try {
        const reply = await next(call);
        error = reply.kind === 'whole' && reply.body ? errorIn(reply.body) : undefined;
        return reply;
      } catch (thrown) {
        error = asVmcpError(thrown).code;
        throw thrown;
      } finally {
        const labels = { 'mcp.method.name': call.method, 'vmcp.backend.name': backend, 'error.type': error };
        sent(secondsSince(began, now), labels);
      }
    },
  };
};

const afterwards = async (next: () => Promise<Reply>, run: () => void): Promise<Reply> => {
  try {
    return await next();
  } finally {
    run();
  }
};

/** A machine's clock may be set back. */
const secondsSince = (began: number, now: () => number): number => Math.max(0, now() - began) / 1000;

const operationOf = (record: RequestRecord, message: Message, reply: Reply | undefined) => {
  const method = methodOf(message);
  if (NO_OPERATION.has(method)) return undefined;
  return {
    'mcp.method.name': CLIENT_METHODS.has(method) ? method : 'other',
    ...(message.kind === 'call' && nameOf(message, record.call)),
    'error.type': errorOf(message, reply),
  };
};

/** Only names that exist: others are chosen by whoever asks for them. */
const nameOf = ({ call }: Extract<Message, { kind: 'call' }>, record: CallRecord | undefined) => {
  if (!record?.target) return {};
  if (call.names === 'tool') return { 'gen_ai.tool.name': call.name };
  return call.names === 'prompt' ? { 'gen_ai.prompt.name': call.name } : {};
};

const errorOf = (message: Message, reply: Reply | undefined): string | undefined => {
  if (!reply) return 'internal';
  if (reply.kind !== 'whole') return undefined;
  if (reply.refusal) return reply.refusal.code;
  return message.kind === 'call' && reply.body ? errorIn(reply.body) : undefined;
};

const decisionLabels = ({ isAllowed, failed, dryRun }: PolicyDecision) => ({
  'vmcp.policy.decision': failed.length > 0 ? 'failed' : isAllowed ? 'allow' : 'deny',
  'vmcp.policy.dry_run': dryRun.length > 0 ? 'differs' : undefined,
});

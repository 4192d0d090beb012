import type { RelayedRequest } from '../../../../runtime/call/call.ts';
import type { Access } from '../../../../runtime/call/index.ts';
import type { BackendTarget } from '../../../../runtime/call/target.ts';
import { memberAt } from '../../../../runtime/json/index.ts';
import { policyMetrics } from '../../../../runtime/gate/policy/policy-metrics.ts';
import { subjectOfAccess, type Subject } from '../../../../runtime/gate/policy/subject.ts';
import { createMetrics } from '../../../../runtime/observe/index.ts';
import { userOf } from '../../../fixtures/callers.ts';

/** A tool of backend x; `x_a` only reads. */
export const toolTarget = (name: string, backend = 'x'): BackendTarget => {
  const bytes = Buffer.from(
    JSON.stringify({
      name,
      ...(name === 'x_a' && { annotations: { readOnlyHint: true } }),
      inputSchema: { type: 'object' },
    }),
  );
  const keySpan = memberAt(bytes, 0, 'name') ?? { start: 0, end: 0 };
  return {
    kind: 'backend',
    backend,
    ownName: Buffer.from(JSON.stringify(name)),
    listed: { key: name, bytes, keySpan },
  };
};

/** A call of a tool with these arguments: JSON text of each, or of all of them. */
export const toolCall = (name: string, given: Given | string = {}, subject = 'alice', claims = {}): Access => ({
  caller: userOf(subject, { claims: { sub: subject, ...claims } }),
  method: 'tools/call',
  name,
  names: 'tool',
  origin: 'client',
  request: withArguments(given),
});

export const toolSubject = (name: string): Subject =>
  subjectOfAccess({ names: 'tool', name, method: 'tools/call' }, toolTarget(name));

type Given = Readonly<Record<string, string | undefined>>;

export const withArguments = (given: Given | string): RelayedRequest => {
  const text =
    typeof given === 'string'
      ? given
      : `{${Object.entries(given)
          .flatMap(([name, value]) => (value === undefined ? [] : [`${JSON.stringify(name)}:${value}`]))
          .join()}}`;
  const bytes = Buffer.from(`{"params":{"name":"t","arguments":${text}}}`);
  const params = memberAt(bytes, 0, 'params');
  return { bytes, id: Buffer.from('1'), target: { start: 0, end: 0 }, params, meta: undefined };
};

/** What decisions are counted in, where no test looks at it. */
export const unshownMetrics = () => policyMetrics(createMetrics().meter, () => 0);

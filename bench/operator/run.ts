import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startControlPlane } from '../../test/cluster/index.ts';
import { cpuMicrosOf, peakResidentOf } from '../processes.ts';
import { publish } from '../publish.ts';
import { atMost, targetTable } from '../targets.ts';
import { planMs } from './plan.ts';
import { manifests, missing, startOperatorProcess, writesAtRest } from './cluster.ts';

/** `npm run bench:operator [-- --servers 500 --entries 4 --rest 540 --write]`: see README.md one folder up. */
const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '500' },
    /** Of each group. */
    entries: { type: 'string', default: '4' },
    /** Seconds. */
    rest: { type: 'string', default: '540' },
    write: { type: 'boolean', default: false },
  },
});
const [servers, entries, rest] = [values.servers, values.entries, values.rest].map(Number) as [number, number, number];

// Before anything else takes time of the machine.
const planning = planMs(1_000);
const plane = await startControlPlane();
try {
  const operator = await startOperatorProcess(plane);
  try {
    const before = await cpuMicrosOf(operator.pid);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests(servers, entries) });
    const beganAt = Date.now();
    await plane.kubectl(['apply', '--server-side', '-f', '-'], list);
    const appliedAt = Date.now();
    const writes = await writesAtRest(plane);
    const cpuSeconds = ((await cpuMicrosOf(operator.pid)) - before) / 1e6;
    const open = await missing(plane, servers);
    if (open.length > 0) throw new Error(`not converged: ${open.slice(0, 5).join(', ')}`);
    const lastWriteAt = Math.max(...writes.map(({ at }) => Date.parse(at)));
    await pause(rest * 1_000);
    const since = (await writesAtRest(plane)).slice(writes.length);
    const report = targetTable([
      atMost('seconds from the return of `kubectl apply` to the last write', 15, (lastWriteAt - appliedAt) / 1_000),
      atMost('writes per VirtualMCPServer, its group and entries included', 11, writes.length / servers),
      atMost('peak RSS in MB', 250, (await peakResidentOf(operator.pid)) / 2 ** 20, 0),
      atMost('milliseconds to plan a server of 1,000 backends, one of which has changed (median)', 100, planning, 0),
      atMost(`writes in the next ${rest} s`, 0, since.length, 0),
    ]);
    const facts = `\`kubectl apply\` itself took ${((appliedAt - beganAt) / 1_000).toFixed(0)} s; the operator used ${cpuSeconds.toFixed(0)} s of CPU until it was at rest.`;
    console.log(`${report}\n\n${facts}`);
    const how = `${servers} VirtualMCPServers with a group of ${entries} entries each`;
    if (values.write) await publish('operator', how, `${report}\n\n${facts}`);
  } finally {
    await operator.stop();
  }
} finally {
  await plane.stop();
}

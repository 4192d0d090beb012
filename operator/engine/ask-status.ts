import type { Dispatcher } from 'undici';
import type { StatusReport } from '../../runtime/edge/status-report.ts';

/** decisions: "ports" */
const managementPort = 4484;

const timeoutMs = 5000;

/** Asks one runtime what it knows of itself. Throws when it does not answer, or not with a report. */
export const askStatus = async (
  dispatcher: Dispatcher,
  pod: { readonly podIP: string; readonly token: string },
  signal: AbortSignal,
): Promise<StatusReport> => {
  const host = pod.podIP.includes(':') ? `[${pod.podIP}]` : pod.podIP;
  const response = await dispatcher.request({
    origin: `http://${host}:${managementPort}`,
    path: '/status',
    method: 'GET',
    headers: { authorization: `Bearer ${pod.token}`, accept: 'application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  if (response.statusCode !== 200) {
    await response.body.dump();
    throw new Error(`the management port answered ${response.statusCode}`);
  }
  const report = (await response.body.json()) as Partial<StatusReport> | null;
  if (!Array.isArray(report?.backends) || !Array.isArray(report.collisions)) {
    throw new Error('the management port answered something else than a report');
  }
  return report as StatusReport;
};

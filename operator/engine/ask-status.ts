import type { Dispatcher } from 'undici';
import { within } from './timing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { StatusReport } from '../../runtime/status-report.ts';
import { statusReportSchema } from '../../runtime/status-report-schema.ts';

/** decisions: "ports" */
const managementPort = 4484;

const timeoutMs = 5000;

/** A report over thousands of backends is smaller; what is larger is none. */
const maxBytes = 1024 * 1024;

/** Something answered that is no runtime of ours, or one that does not know us. */
export class NoReport extends Error {
  override readonly name = 'NoReport';
}

/** Asks one runtime what it knows of itself. Throws when it does not answer, `NoReport` when not with a report. */
export const askStatus = (
  pod: { readonly podIP: string; readonly token: string },
  { dispatcher, clock }: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  signal: AbortSignal,
): Promise<StatusReport> => {
  const host = pod.podIP.includes(':') ? `[${pod.podIP}]` : pod.podIP;
  const ask = async (limited: AbortSignal): Promise<StatusReport> => {
    const response = await dispatcher.request({
      origin: `http://${host}:${managementPort}`,
      path: '/status',
      method: 'GET',
      headers: { authorization: `Bearer ${pod.token}`, accept: 'application/json' },
      signal: limited,
    });
    const body = await textOf(response.body);
    if (response.statusCode !== 200) {
      throw new NoReport(`the management port answered ${response.statusCode}`);
    }
    return reportIn(body);
  };
  return within({ clock, ms: timeoutMs }, ask, signal);
};

const textOf = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new NoReport(`the management port answered more than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const reportIn = (text: string): StatusReport => {
  const parsed = statusReportSchema.safeParse(valueIn(text));
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    throw new NoReport(
      `the management port answered no report: ${first?.path.join('.') || 'the body'}: ${first?.message ?? ''}`,
    );
  }
  return parsed.data;
};

const valueIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

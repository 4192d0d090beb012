import type { StatusReport } from '../../runtime/status/index.ts';
import { statusReportSchema } from '../plan/server/status/status-report-schema.ts';
import { TooCostlyError, type WorkThread } from '../threads/work-thread.ts';

/** A report, or why it is none. */
export type CheckedReport = { readonly report: StatusReport } | { readonly problem: string };

/**
 * Reads what the pod of a server in this namespace answered: the image is its tenant's, and so is the cost. The bytes
 * are the reader's from then on.
 */
export type CheckReport = (body: Uint8Array, namespace: string) => Promise<CheckedReport>;

/** Checks in this thread the body of an answer to `GET /status`. */
export const checkedReport = (body: Uint8Array): CheckedReport => {
  const { data, error } = statusReportSchema.safeParse(valueIn(body));
  if (error === undefined) return { report: data };
  const [first] = error.issues;
  return { problem: `${first?.path.join('.') || 'the body'}: ${first?.message ?? ''}` };
};

const valueIn = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString());
  } catch {
    return undefined;
  }
};

/** In this thread. */
export const checkHere: CheckReport = (body) => Promise.resolve(checkedReport(body));

/**
 * Bytes that are parsed without blocking the thread noticeably, however many pods answer: the reports of a few dozen
 * backends. A megabyte takes a quarter of a second.
 */
const LARGE = 8 * 1024;

/** What is large in another thread. */
export const checkIn =
  (thread: Pick<WorkThread, 'run'>): CheckReport =>
  async (body, namespace) => {
    if (body.length <= LARGE) return checkedReport(body);
    try {
      return (await thread.run('report', body, namespace)) as CheckedReport;
    } catch (error) {
      if (!(error instanceof TooCostlyError)) throw error;
      return { problem: `reading it ${error.message}` };
    }
  };

import type { Dispatcher } from 'undici';
import { withTimeout } from './timing.ts';
import type { Clock } from '../../runtime/process/index.ts';
import type { StatusReport } from '../../runtime/status/index.ts';
import { ByteSemaphore } from '../api/byte-semaphore.ts';
import type { CheckReport } from '../offload/check-report.ts';

/** docs/decisions.md "Ports" */
const managementPort = 4484;

const timeoutMs = 5000;

/** A report over thousands of backends is smaller; what is larger is none. */
const maxBytes = 1024 * 1024;

/** Answers of the pods of one namespace that are read at once; those beyond wait on the wire. */
const MAX_CONCURRENT_BODIES = 4;

/** The answer is no report: not a runtime of ours, or one that does not accept our token. */
export class InvalidReportError extends Error {
  override readonly name = 'NoReport';
}

/** The management port of one pod. */
export interface StatusTarget {
  readonly namespace: string;
  readonly podIP: string;
  /** That its runtime accepts. */
  readonly token: string;
}

/**
 * Fetches the status of one runtime. Throws when it does not answer, and `InvalidReportError` when the answer is no
 * report.
 */
export type FetchStatus = (pod: StatusTarget, signal: AbortSignal) => Promise<StatusReport>;

export interface StatusFetcherDeps {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly check: CheckReport;
}

/** Fetches over this dispatcher, within a time limit and with a bounded number of requests for each namespace. */
export const statusFetcher = ({ dispatcher, clock, check }: StatusFetcherDeps): FetchStatus => {
  const enter = semaphorePerNamespace();
  return async (pod, signal) => {
    const place = enter(pod.namespace);
    try {
      const ask = async (limited: AbortSignal): Promise<Uint8Array> => {
        const response = await dispatcher.request({ ...requestTo(pod), signal: limited });
        limited.throwIfAborted();
        await place.entered();
        const body = await bytesOf(response.body);
        if (response.statusCode !== 200)
          throw new InvalidReportError(`the management port answered ${response.statusCode}`);
        return body;
      };
      const checked = await check(await withTimeout({ clock, ms: timeoutMs }, ask, signal), pod.namespace);
      if ('report' in checked) return checked.report;
      throw new InvalidReportError(`the management port answered no report: ${checked.problem}`);
    } finally {
      place.leave();
    }
  };
};

const requestTo = ({ podIP, token }: StatusTarget) => ({
  origin: `http://${podIP.includes(':') ? `[${podIP}]` : podIP}:${managementPort}`,
  path: '/status',
  method: 'GET' as const,
  headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
});

interface Place {
  /** Resolves when the body may be read. */
  readonly entered: () => Promise<void>;
  readonly leave: () => void;
}

/** A semaphore for the bodies of each namespace, kept while requests of that namespace are under way. */
const semaphorePerNamespace = (): ((namespace: string) => Place) => {
  const rooms = new Map<string, { readonly room: ByteSemaphore; guests: number }>();
  return (namespace) => {
    const held = rooms.get(namespace) ?? {
      room: new ByteSemaphore(MAX_CONCURRENT_BODIES * maxBytes, Infinity),
      guests: 0,
    };
    rooms.set(namespace, held);
    held.guests += 1;
    let stay: ReturnType<ByteSemaphore['acquire']>;
    return {
      entered: async () => {
        stay = held.room.acquire(maxBytes);
        await stay?.entered;
      },
      leave: () => {
        stay?.leave();
        held.guests -= 1;
        if (held.guests === 0) rooms.delete(namespace);
      },
    };
  };
};

const bytesOf = async (body: AsyncIterable<Buffer>): Promise<Uint8Array> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) throw new InvalidReportError(`the management port answered more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

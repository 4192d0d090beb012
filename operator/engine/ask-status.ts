import type { Dispatcher } from 'undici';
import { within } from './timing.ts';
import type { Clock } from '../../runtime/process/index.ts';
import type { StatusReport } from '../../runtime/status/index.ts';
import { BodyRoom } from '../api/body-room.ts';
import type { CheckReport } from '../offload/check-report.ts';

/** docs/decisions.md "Ports" */
const managementPort = 4484;

const timeoutMs = 5000;

/** A report over thousands of backends is smaller; what is larger is none. */
const maxBytes = 1024 * 1024;

/** Answers of the pods of one namespace that are read at once; those beyond wait on the wire. */
const MOST_AT_ONCE = 4;

/** Something answered that is no runtime of ours, or one that does not know us. */
export class NoReport extends Error {
  override readonly name = 'NoReport';
}

export interface AskedPod {
  readonly namespace: string;
  readonly podIP: string;
  /** That its runtime accepts. */
  readonly token: string;
}

/** Asks one runtime what it knows of itself. Throws when it does not answer, `NoReport` when not with a report. */
export type AskStatus = (pod: AskedPod, signal: AbortSignal) => Promise<StatusReport>;

export interface StatusAskerDeps {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly check: CheckReport;
}

export const statusAsker = ({ dispatcher, clock, check }: StatusAskerDeps): AskStatus => {
  const enter = roomOfEach();
  return async (pod, signal) => {
    const place = enter(pod.namespace);
    try {
      const ask = async (limited: AbortSignal): Promise<Uint8Array> => {
        const response = await dispatcher.request({ ...requestTo(pod), signal: limited });
        limited.throwIfAborted();
        await place.entered();
        const body = await bytesOf(response.body);
        if (response.statusCode !== 200) throw new NoReport(`the management port answered ${response.statusCode}`);
        return body;
      };
      const checked = await check(await within({ clock, ms: timeoutMs }, ask, signal), pod.namespace);
      if ('report' in checked) return checked.report;
      throw new NoReport(`the management port answered no report: ${checked.problem}`);
    } finally {
      place.leave();
    }
  };
};

const requestTo = ({ podIP, token }: AskedPod) => ({
  origin: `http://${podIP.includes(':') ? `[${podIP}]` : podIP}:${managementPort}`,
  path: '/status',
  method: 'GET' as const,
  headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
});

interface Place {
  /** From then on a body may be read. */
  readonly entered: () => Promise<void>;
  readonly leave: () => void;
}

/** A room for the bodies of each namespace, as long as some are asked for. */
const roomOfEach = (): ((namespace: string) => Place) => {
  const rooms = new Map<string, { readonly room: BodyRoom; guests: number }>();
  return (namespace) => {
    const held = rooms.get(namespace) ?? { room: new BodyRoom(MOST_AT_ONCE * maxBytes, Infinity), guests: 0 };
    rooms.set(namespace, held);
    held.guests += 1;
    let stay: ReturnType<BodyRoom['enter']>;
    return {
      entered: async () => {
        stay = held.room.enter(maxBytes);
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
    if (length > maxBytes) throw new NoReport(`the management port answered more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

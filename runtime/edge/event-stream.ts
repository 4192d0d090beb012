const LF = 0x0a;
const CR = 0x0d;

const beforeData = Buffer.from('data: ');
const betweenLines = Buffer.from('\ndata: ');
const afterEvent = Buffer.from('\n\n');

/** Opens every event stream: no proxy may hold its events back. */
export const EVENT_STREAM_HEADERS = [
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
] as const;

/** A comment, which readers ignore (HTML, "9.2.6 Interpreting an event stream"). */
export const KEEP_ALIVE = Buffer.from(': \n\n');

/** MCP 2025-11-25, "Sending Messages to the Server": how soon a client that lost its connection comes back. */
const RETRY = 'retry: 1000\n';

/**
 * One server-sent event; a JSON text of several lines becomes as many data lines. An event without data carries its id
 * and the retry time.
 */
export const eventOf = (data: Buffer, event?: string, id?: string): Buffer => {
  const lines = data.includes(LF) || data.includes(CR) ? linesOf(data) : [data];
  const pieces = lines.flatMap((line, index) => [index === 0 ? beforeData : betweenLines, line]);
  const name = event === undefined ? [] : [Buffer.from(`event: ${event}\n`)];
  const number = id === undefined ? [] : [Buffer.from(`id: ${id}\n${data.length === 0 ? RETRY : ''}`)];
  return Buffer.concat([...number, ...name, ...pieces, afterEvent]);
};

const linesOf = (data: Buffer): Buffer[] => {
  const lines: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < data.length; at += 1) {
    if (data[at] !== LF && data[at] !== CR) continue;
    lines.push(data.subarray(from, at));
    from = at + 1;
  }
  return [...lines, data.subarray(from)];
};

/** Whether a client with this `Accept` header takes an event stream. */
export const acceptsEvents = (accept: string): boolean => /text\/event-stream|text\/\*|\*\/\*/i.test(accept);

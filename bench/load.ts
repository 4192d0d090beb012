import { connect } from 'node:net';

/**
 * Clients that each keep one call under way on a connection of their own. Arguments: URL, tool name, clients, milliseconds, bytes
 * of the message. Prints one JSON line. Talks HTTP by hand, so that the generator costs less than what it measures.
 */
const [url = '', tool = '', clients = '1', milliseconds = '1000', bytes = '1000'] = process.argv.slice(2);
const target = new URL(url);
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const openSession = async (): Promise<string | undefined> => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body });
  await response.arrayBuffer();
  return response.headers.get('mcp-session-id') ?? undefined;
};

const requestOf = (session: string | undefined): Buffer => {
  const params = { name: tool, arguments: { message: 'x'.repeat(Number(bytes)) } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
  const head = [
    `POST ${target.pathname} HTTP/1.1`,
    `host: ${target.host}`,
    ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    ...(session === undefined ? [] : [`mcp-session-id: ${session}`, 'mcp-protocol-version: 2025-11-25']),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
};

/** Length of the first whole response in `bytes`; 0 while it is incomplete. */
const responseLength = (response: Buffer): number => {
  const headEnd = response.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const head = response.toString('latin1', 0, headEnd);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`unexpected answer: ${response.toString()}`);
  if (length !== undefined) return response.length >= headEnd + 4 + Number(length) ? headEnd + 4 + Number(length) : 0;
  return response.subarray(-5).equals(Buffer.from('0\r\n\r\n')) ? response.length : 0;
};

let calls = 0;
const latencies: number[] = [];

const runClient = (request: Buffer, until: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    let pending = Buffer.alloc(0);
    let sentAt = performance.now();
    socket.on('connect', () => socket.write(request));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      if (responseLength(pending) === 0) return;
      if (!pending.includes('"content":[{"type":"text"') || pending.includes('"isError"'))
        return reject(new Error(pending.toString()));
      pending = Buffer.alloc(0);
      const now = performance.now();
      calls += 1;
      latencies.push(now - sentAt);
      if (now >= until) return socket.end(() => resolve());
      sentAt = now;
      socket.write(request);
    });
  });

const requests = await Promise.all(Array.from({ length: Number(clients) }, async () => requestOf(await openSession())));
// One call each before the clock starts: the backend sessions of a gateway open here.
await Promise.all(requests.map((request) => runClient(request, 0)));
calls = 0;
latencies.length = 0;
process.send?.('warm');
await new Promise((resolve) => process.once('message', resolve));
const start = performance.now();
await Promise.all(requests.map((request) => runClient(request, start + Number(milliseconds))));
const seconds = (performance.now() - start) / 1_000;
latencies.sort((a, b) => a - b);
process.send?.({
  calls,
  seconds,
  p50: latencies[latencies.length >> 1],
  p99: latencies[Math.floor(latencies.length * 0.99)],
});
process.disconnect?.();

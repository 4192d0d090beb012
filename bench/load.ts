import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { runAsTold, type Seen, seenSince } from './loader-process.ts';
import { authorization, INITIALIZE, JSON_HEADERS, postOf, type Work, wireOf } from './requests.ts';

/**
 * Clients that each keep one request under way on a connection of their own. The first message of its parent is a
 * `Load`. Says `warm`, then runs for each number of milliseconds that it is sent, and tells what it saw.
 */
export interface Load extends Work {
  readonly clients: number;
  /** Of users, who are spread evenly over the clients; a client with several uses them in turn. */
  readonly tokens?: readonly string[] | undefined;
  /** Further arguments, which each client uses in turn. */
  readonly variants?: readonly NonNullable<Work['moreArguments']>[] | undefined;
}

const [load] = (await once(process, 'message')) as [Load];
const target = new URL(load.url);
const EXPECTED = load.kind === 'list' ? '"tools":[{' : '"content":[{"type":"text"';

const openSession = async (work: Work): Promise<string | undefined> => {
  if (work.era === 'modern') return undefined;
  const headers = { ...JSON_HEADERS, ...authorization(work) };
  const response = await fetch(work.url, { method: 'POST', headers, body: INITIALIZE });
  await response.arrayBuffer();
  return response.headers.get('mcp-session-id') ?? undefined;
};

/** What one user sends in turn: a list of several pages page by page. */
const requestsOf = async (user: Work): Promise<readonly Buffer[]> => {
  const session = await openSession(user);
  if (user.kind === 'list') return pagesOf(user, session);
  const { variants = [user.moreArguments] } = load;
  return variants.map((moreArguments) => wireOf({ ...user, moreArguments }, session));
};

const pagesOf = async (list: Work, session: string | undefined): Promise<readonly Buffer[]> => {
  const requests: Buffer[] = [];
  for (let work: Work | undefined = list; work;) {
    requests.push(wireOf(work, session));
    const response = await fetch(work.url, { method: 'POST', ...postOf(work, session) });
    const cursor = /"nextCursor":("[^"]*")/.exec(await response.text())?.[1];
    work = cursor === undefined ? undefined : { ...list, cursor: JSON.parse(cursor) as string };
  }
  return requests;
};

/** The tokens of one client; undefined: it has none. */
const tokensOf = (client: number): readonly (string | undefined)[] => {
  const { tokens, clients } = load;
  if (tokens === undefined) return [undefined];
  if (tokens.length <= clients) return [tokens[client % tokens.length]];
  return tokens.filter((_, index) => index % clients === client);
};

/** One response at a time, as it arrives; the next request is sent only after it. */
class Response {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of the whole response; 0 while the head has not arrived, undefined when it comes in HTTP chunks. */
  #length: number | undefined = 0;

  /** The whole response, once it is there. */
  push(chunk: Buffer): Buffer | undefined {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#length === 0) this.#readHead();
    const isWhole =
      this.#length === undefined
        ? chunk.subarray(-5).equals(LAST_CHUNK)
        : this.#length > 0 && this.#bytes >= this.#length;
    if (!isWhole) return undefined;
    const whole = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    [this.#chunks, this.#bytes, this.#length] = [[], 0, 0];
    return whole;
  }

  #readHead(): void {
    const start = Buffer.concat(this.#chunks);
    const headEnd = start.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = start.toString('latin1', 0, headEnd);
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`unexpected answer: ${start.toString()}`);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    this.#length = length === undefined ? undefined : headEnd + 4 + Number(length);
  }
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** Where what is expected must begin; the rest of a large answer is not searched. */
const START_BYTES = 1_024;

const latencies: number[] = [];

class Client {
  readonly #requests: readonly Buffer[];
  readonly #socket: Socket;
  readonly #response = new Response();
  #sent = 0;
  #sentAt = 0;
  #until = 0;
  #isClosed = false;
  #done = Promise.withResolvers<void>();

  constructor(requests: readonly Buffer[], socket: Socket) {
    this.#requests = requests;
    this.#socket = socket;
    socket.on('data', (chunk) => this.#push(chunk));
    socket.on('error', (error) => this.#done.reject(error));
    socket.on('close', () => {
      this.#isClosed = true;
      this.#done.reject(new Error('the connection was closed'));
    });
  }

  /** Calls one after the other; the last one is begun before `until`. */
  run(until: number): Promise<void> {
    if (this.#isClosed) throw new Error('the connection was closed while it was idle');
    this.#until = until;
    this.#done = Promise.withResolvers();
    this.#send();
    return this.#done.promise;
  }

  #send(): void {
    this.#sent += 1;
    this.#sentAt = performance.now();
    this.#socket.write(this.#requests[this.#sent % this.#requests.length] ?? '');
  }

  #push(chunk: Buffer): void {
    const whole = this.#response.push(chunk);
    if (!whole) return undefined;
    if (!whole.subarray(0, START_BYTES).includes(EXPECTED) || whole.subarray(-START_BYTES).includes('"isError"'))
      return this.#done.reject(new Error(whole.toString('utf8', 0, START_BYTES)));
    const now = performance.now();
    latencies.push(now - this.#sentAt);
    return now >= this.#until ? this.#done.resolve() : this.#send();
  }
}

const openClient = async (_: unknown, index: number): Promise<Client> => {
  const users = tokensOf(index).map((token) => ({ ...load, token }));
  const requests = (await Promise.all(users.map(requestsOf))).flat();
  const socket = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
  await once(socket, 'connect');
  return new Client(requests, socket);
};

const clients = await Promise.all(Array.from({ length: load.clients }, openClient));

const run = async (milliseconds: number): Promise<Seen> => {
  latencies.length = 0;
  const start = performance.now();
  await Promise.all(clients.map((client) => client.run(start + milliseconds)));
  return seenSince(start, latencies);
};

// One call each: the backend sessions of a gateway open here.
await run(0);
runAsTold(run);

import {
  type ClientEra,
  type ClientTransport,
  type Outcome,
  STACKS,
  type StackName,
  stacks,
  type Way,
  WAYS,
} from './foreign.ts';

/** One client in front of one server. */
export interface Cell {
  readonly client: StackName;
  readonly era: ClientEra;
  /** What the client speaks to the gateway. */
  readonly transport: ClientTransport;
  readonly server: StackName;
  readonly way: Way;
}

const says =
  (...words: readonly string[]) =>
  (seen: unknown): boolean => {
    const text = JSON.stringify(seen) ?? '';
    return words.every((word) => text.includes(word));
  };

/** Everything that is tried, and what it has to come to. */
export const CAPABILITIES: Readonly<Record<string, (outcome: Outcome) => boolean>> = {
  tools: ({ ok }) => says('"echo"', '"structured"')(ok),
  results: ({ ok }) => says('a é', '"structuredContent":{"n":3', '"isError":true')(ok),
  'unknown tool': ({ ok, error }) => error !== undefined || says('"isError":true')(ok),
  'protocol error': ({ error }) => error?.code === -32_042 && says('https://example.com/')(error.data),
  progress: ({ ok }) => says('step 1', 'step 2', 'step 3')(ok),
  'log messages': ({ ok }) => says('first', 'second')(ok),
  sampling: ({ ok }) => says('sampled')(ok),
  elicitation: ({ ok }) => says('red')(ok),
  roots: ({ ok }) => says('file:///home/ada')(ok),
  'input required': ({ ok }) => says('red')(ok),
  resources: ({ ok }) => says('static text', 'item 7')(ok),
  'unknown resource': ({ error }) => error !== undefined,
  prompts: ({ ok }) => says('Say hello to Ada.')(ok),
  completion: ({ ok }) => says('Ada')(ok),
  subscription: ({ ok }) => ok === true,
  'list changed': ({ ok }) => Array.isArray(ok) && ok[0] === true && ok[1] === true && says('late')(ok),
  cancel: ({ ok }) => Array.isArray(ok) && ok[1] === true,
  state: ({ ok }) => says('blue')(ok),
  '50 at once': ({ ok }) => ok === 50,
  reconnect: ({ ok }) => says('"echo"')(ok),
};

export type Capability = keyof typeof CAPABILITIES;

export interface Rule {
  readonly why: string;
  readonly holds: (cell: Cell) => boolean;
  readonly what: readonly Capability[];
}

const isPython = (name: StackName): boolean => stacks[name].toolchain.startsWith('python');
const isFastmcp = (name: StackName): boolean => name.startsWith('fastmcp');
const ofBothEras = (name: StackName): boolean => (stacks[name].eras as readonly ClientEra[]).includes('auto');

/** Whether the server answers in 2026-07-28 when it is asked to. */
export const speaksModern = ({ server, way }: Pick<Cell, 'server' | 'way'>): boolean => {
  if (!ofBothEras(server) || way === 'HTTP+SSE') return false;
  // With sessions, the Go SDK speaks the revisions before it only.
  return server !== 'Go SDK 1.8' || way === 'stateless';
};

/** rmcp answers in JSON only where it keeps no sessions. */
const isStateless = ({ server, way }: Cell): boolean =>
  way === 'stateless' || (server === 'rmcp 3.9' && way === 'json answers');

const isModern = (cell: Cell): boolean => cell.era === 'auto' && speaksModern(cell);
const ASKING = ['sampling', 'elicitation', 'roots'] as const;

/**
 * Whether the pair speaks 2026-07-28 without the gateway: the Python servers of both eras answer these clients in it
 * over HTTP+SSE as well.
 */
const isModernByItself = (cell: Cell): boolean =>
  isModern(cell) ||
  (cell.era === 'auto' &&
    cell.way === 'HTTP+SSE' &&
    isPython(cell.server) &&
    ofBothEras(cell.server) &&
    (cell.client === 'mcp 2.3' || cell.client === 'Go SDK 1.8'));

/** What a pair cannot do without the gateway either. Not tried. */
export const LIMITS: readonly Rule[] = [
  {
    why: '2026-07-28 has no sessions, and servers ask by `input_required` only',
    holds: isModernByItself,
    what: [...ASKING, 'state'],
  },
  {
    why: 'a server without sessions keeps nothing for its client, and has no way to it but the answer',
    holds: (cell) => isStateless(cell) && !isModern(cell),
    what: [...ASKING, 'input required', 'state', 'subscription', 'list changed', 'cancel'],
  },
  {
    why: 'the Python SDKs, when they answer in JSON, drop what belongs to the answer',
    holds: ({ server, way }) => way === 'json answers' && isPython(server),
    what: ['progress', 'log messages', 'sampling', 'elicitation'],
  },
  {
    why: 'mcp 2.3, when it answers in JSON, asks sessions nothing and does not see that a request is closed',
    holds: ({ server, way }) => way === 'json answers' && server === 'mcp 2.3',
    what: ['input required', 'cancel'],
  },
  {
    why: 'the Go SDK, when it answers in JSON, sends these on another stream than the answer, which may overtake them',
    holds: ({ server, way }) => server === 'Go SDK 1.8' && way === 'json answers',
    what: ['progress', 'log messages'],
  },
  {
    why: 'the client of the Go SDK cannot read all questions that mcp 2.3 asks',
    holds: (cell) => cell.client === 'Go SDK 1.8' && cell.server === 'mcp 2.3' && isModernByItself(cell),
    what: ['input required'],
  },
  {
    why: 'Go servers, and Python ones with JSON answers, do not see that a call of 2026-07-28 is closed, which is how it is cancelled',
    holds: (cell) =>
      isModern(cell) && (cell.server === 'Go SDK 1.8' || (isPython(cell.server) && cell.way === 'json answers')),
    what: ['cancel'],
  },
  {
    why: 'the client of rmcp does not go back to `initialize` when `server/discover` names earlier revisions only, as Go servers do',
    holds: (cell) =>
      cell.client === 'rmcp 3.9' && cell.server === 'Go SDK 1.8' && cell.era === 'auto' && !isModern(cell),
    what: Object.keys(CAPABILITIES),
  },
  {
    why: 'servers of fastmcp make every error one of the tool, and offer neither completion nor subscriptions',
    holds: ({ server }) => isFastmcp(server),
    what: ['protocol error', 'completion', 'subscription'],
  },
  {
    why: 'clients of fastmcp neither subscribe nor complete',
    holds: ({ client }) => isFastmcp(client),
    what: ['completion', 'subscription'],
  },
  {
    why: 'in 2026-07-28, the client of fastmcp 4 does not listen, nor does its server let others',
    holds: (cell) => [cell.client, cell.server].includes('fastmcp 4.1') && isModernByItself(cell),
    what: ['list changed'],
  },
  {
    why: 'the server knows nothing of `input_required`, or only in 2026-07-28',
    holds: (cell) => !ofBothEras(cell.server) || (['fastmcp 4.1', 'rmcp 3.9'].includes(cell.server) && !isModern(cell)),
    what: ['input required'],
  },
];

const isHeld = (cell: Cell): boolean => cell.era === 'auto' && !speaksModern(cell);

/** What works through the gateway as well, but comes out otherwise. */
export const DIFFERENCES: readonly Rule[] = [
  { why: 'the gateway answers in its own words, with -32602', holds: () => true, what: ['unknown tool'] },
  { why: '-32002 is -32602 in 2026-07-28', holds: isHeld, what: ['unknown resource'] },
  {
    why: 'a call of 2026-07-28 is cancelled by closing it, so that there is no answer',
    holds: isHeld,
    what: ['cancel'],
  },
  {
    why: 'a server that gives no answer to a cancelled call leaves its client waiting; the gateway ends the answer',
    holds: ({ client, way }) => client === 'fastmcp 4.1' && way === 'HTTP+SSE',
    what: ['cancel'],
  },
  {
    why: 'a server of both eras without sessions is asked in 2026-07-28, where rmcp says -32602 for -32002',
    holds: (cell) => cell.server === 'rmcp 3.9' && cell.era === 'legacy' && isStateless(cell),
    what: ['unknown resource'],
  },
  {
    why: 'rmcp leaves the stream of a cancelled call open, the gateway ends it',
    holds: (cell) => cell.server === 'rmcp 3.9' && cell.era === 'legacy' && !isStateless(cell),
    what: ['cancel'],
  },
];

/**
 * What works without the gateway only: there, such a client is one of the earlier revisions, with a session. Not tried.
 */
export const LOST: readonly Rule[] = [
  {
    why: 'of two anonymous requests of 2026-07-28 nobody knows that they come from one client; a user has one session from call to call, and `extensions.clientEra: legacy` gives sessions to all',
    holds: isHeld,
    what: ['state'],
  },
  {
    why: 'in 2026-07-28, the client of fastmcp 4 does not listen',
    holds: (cell) => cell.client === 'fastmcp 4.1' && isHeld(cell),
    what: ['list changed'],
  },
];

export const namesOf = (rules: readonly Rule[], cell: Cell): ReadonlySet<Capability> =>
  new Set(rules.flatMap(({ holds, what }) => (holds(cell) ? what : [])));

/** What is tried in this cell. */
export const triedIn = (cell: Cell): readonly Capability[] => {
  const limits = namesOf([...LIMITS, ...LOST], cell);
  return Object.keys(CAPABILITIES).filter((capability) => !limits.has(capability));
};

export interface ClientKind {
  readonly client: StackName;
  readonly era: ClientEra;
  readonly transport: ClientTransport;
}

/** Every client, as each era and over each transport that it has. HTTP+SSE knows no 2026-07-28. */
export const CLIENTS: readonly ClientKind[] = STACKS.flatMap((client) =>
  stacks[client].transports.flatMap((transport) =>
    stacks[client].eras
      .filter((era) => era === 'legacy' || transport !== 'HTTP+SSE')
      .map((era) => ({ client, era, transport })),
  ),
);

const hasTransport = (name: StackName, transport: ClientTransport): boolean =>
  (stacks[name].transports as readonly ClientTransport[]).includes(transport);

/** The ways in which the server can be served so that the client can be tried without the gateway as well. */
export const waysOf = (client: StackName, server: StackName): readonly Way[] =>
  WAYS.filter((way) => way !== 'HTTP+SSE' || [client, server].every((name) => hasTransport(name, way)));

const every = CLIENTS.flatMap((client) =>
  STACKS.flatMap((server) => waysOf(client.client, server).map((way) => ({ ...client, server, way }))),
);

/**
 * Each client with each server once, over another way each time, so that each way comes with each client and each
 * server; over HTTP+SSE, where the way of the client to the gateway is all that differs, with two servers.
 */
const some = CLIENTS.flatMap((client, row) =>
  STACKS.flatMap((server, column) => {
    if (client.transport === 'HTTP+SSE' && (row + column) % STACKS.length > 1) return [];
    const ways = waysOf(client.client, server);
    return [{ ...client, server, way: ways[(row + column) % ways.length] ?? 'sse answers' }];
  }),
);

export const cellsToTry = (all: boolean): readonly Cell[] => (all ? every : some);

import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import {
  type ForeignClient,
  type ForeignServer,
  missing,
  type Outcome,
  type Seen,
  STACKS,
  type StackName,
  startForeignClient,
  startForeignServer,
} from './foreign.ts';
import { CAPABILITIES, type Cell, cellsToTry, DIFFERENCES, namesOf, triedIn } from './matrix.ts';

/** All pairs in every way, in place of each pair in one: `PEERS=all`. */
const ALL = process.env['PEERS'] === 'all';
/** Long enough for a busy machine; what is known not to come is not waited for. */
const PATIENCE_S = 8;

const WHOLE = { conflictResolution: 'priority', conflictResolutionConfig: { priorityOrder: ['peer'] } };

/** One server as it is, and the same behind a gateway of its own. */
interface Target {
  readonly direct: string;
  readonly gateway: Running;
  /** Ends once it is this client's turn: what a server tells all its clients must come from the one that listens. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

const turns = (): Target['inTurn'] => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
};

describe(
  "clients and servers of other languages' SDKs do through the gateway what they do without it",
  { concurrency: STACKS.length },
  () => {
    const targets = new Map<string, Target>();
    const servers: ForeignServer[] = [];
    const lacking = new Map<StackName, string>();

    const serve = async (name: StackName): Promise<void> => {
      const server = await startForeignServer(name);
      servers.push(server);
      for (const [way, direct] of Object.entries(server.urls)) {
        const transport = way === 'HTTP+SSE' ? 'sse' : 'streamable-http';
        const gateway = await startRuntime(configFile({ peer: direct }, { aggregation: WHOLE }, transport));
        targets.set(`${name} ${way}`, { direct, gateway, inTurn: turns() });
      }
    };

    before(async () => {
      for (const name of STACKS) {
        const why = await missing(name);
        if (why !== undefined) lacking.set(name, why);
      }
      await Promise.all(STACKS.filter((name) => !lacking.has(name)).map(serve));
    });
    after(async () => {
      await Promise.all([...targets.values()].map(({ gateway }) => gateway.stop()));
      await Promise.all(servers.map((server) => server.stop()));
    });

    for (const client of STACKS) {
      test(client, async (t) => {
        const why = lacking.get(client);
        if (why !== undefined) return t.skip(why);
        const driver = await startForeignClient(client);
        t.after(() => driver.stop());
        for (const cell of cellsToTry(ALL)) if (cell.client === client) await tryCell(t, cell, driver);
      });
    }

    const tryCell = (t: TestContext, cell: Cell, driver: ForeignClient): Promise<void> =>
      t.test(nameOf(cell), async (inner) => {
        const why = lacking.get(cell.server);
        if (why !== undefined) return inner.skip(why);
        const target = targets.get(`${cell.server} ${cell.way}`);
        assert.ok(target, 'the server is not served in this way');
        await target.inTurn(() => compare(cell, driver, target));
      });
  },
);

const nameOf = ({ era, transport, server, way }: Cell): string =>
  `${era === 'auto' ? 'by its own choice' : 'up to 2025-11-25'}, over ${transport}, and ${server}, ${way}`;

const compare = async (cell: Cell, driver: ForeignClient, { direct, gateway }: Target): Promise<void> => {
  const tried = triedIn(cell);
  const order = { era: cell.era, only: tried, patienceS: PATIENCE_S };
  const own = cell.way === 'HTTP+SSE' ? 'HTTP+SSE' : 'Streamable HTTP';
  const without = await driver.carryOut({ ...order, url: direct, transport: own });
  const url = cell.transport === 'HTTP+SSE' ? new URL('/sse', gateway.url).href : gateway.url;
  const through = await driver.carryOut({ ...order, url, transport: cell.transport });
  const otherwise = namesOf(DIFFERENCES, cell);
  const wrong = tried.flatMap((capability) => complaint(capability, { without, through }, otherwise.has(capability)));
  assert.deepEqual(wrong, []);
};

const complaint = (
  capability: string,
  { without, through }: { readonly without: Seen; readonly through: Seen },
  mayDiffer: boolean,
): readonly string[] => {
  const [expected, seen] = [without, through].map((all) => all[capability] ?? all['connect'] ?? {}) as [
    Outcome,
    Outcome,
  ];
  const told = `${capability}: ${JSON.stringify(expected)} without the gateway, ${JSON.stringify(seen)} through it`;
  const works = CAPABILITIES[capability];
  if (!works?.(expected)) return [`works not even without the gateway: ${told}`];
  if (mayDiffer && works(seen)) return [];
  return JSON.stringify(expected) === JSON.stringify(seen) ? [] : [told];
};

import { parseArgs } from 'node:util';
import { publish } from '../publish.ts';
import { atLeast, atMost, targetTable } from '../targets.ts';
import { embed, startEmbeddingServer } from './embedding-server.ts';
import { gatewayReport } from './gateway.ts';
import { offeredTools, toolsOfServers, VOICES } from './labelled.ts';
import { indexOfAll, type Ranked, rankAll, recallOf } from './quality.ts';
import { measureSpeed, type Speed } from './speed.ts';
import { tokenTable } from './tokens.ts';

/**
 * `npm run bench:optimizer [-- --quality --quick --write]`: see README.md one folder up. With `--quality` only what
 * depends on no clock; with `--quick` little is measured at the gateway.
 */
const { values } = parseArgs({
  options: {
    quality: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});

const percent = (share: number): string => (100 * share).toFixed(1);

const rows = (ranking: string, ranked: readonly Ranked[]): readonly string[] => {
  const row = (part: string, of: readonly Ranked[]): string => {
    const { queries, at1, at5, at8 } = recallOf(of);
    return `| ${ranking} | ${part} | ${queries} | ${percent(at1)} | ${percent(at5)} | ${percent(at8)} |`;
  };
  return [
    row(
      'held out',
      ranked.filter(({ query }) => query.isHeldOut),
    ),
    row(
      'tuned on',
      ranked.filter(({ query }) => !query.isHeldOut),
    ),
    ...VOICES.map((voice) =>
      row(
        `held out, ${voice}`,
        ranked.filter(({ query }) => query.isHeldOut && query.voice === voice),
      ),
    ),
  ];
};

const quality = async (): Promise<string> => {
  const service = await startEmbeddingServer();
  try {
    const embedding = (texts: readonly string[]): Promise<readonly Float32Array[]> => embed(service.url, texts);
    const index = await indexOfAll(embedding);
    const keyword = await rankAll(index, 0, embedding);
    const heldOut = keyword.filter(({ query }) => query.isHeldOut);
    return [
      '| ranking | questions | number | recall@1 % | recall@5 % | recall@8 % |',
      '|---|---|---|---|---|---|',
      ...rows('keyword', keyword),
      ...rows('semantic, stand-in', await rankAll(index, 1, embedding)),
      ...rows('both, ratio 0.5, stand-in', await rankAll(index, 0.5, embedding)),
      '',
      tokenTable(index),
      '',
      targetTable([
        atLeast('recall@5 of keywords alone, all questions', 0.9, recallOf(keyword).at5),
        atLeast('recall@5 of keywords alone, held out', 0.9, recallOf(heldOut).at5),
      ]),
    ].join('\n');
  } finally {
    await service.close();
  }
};

const speedReport = (speed: Speed): string =>
  targetTable([
    atMost(`ms to index ${speed.tools} tools in a new process`, 1_000, speed.buildMs, 0),
    atMost('µs of a search by keywords, p50', 1_000, speed.p50Micros, 0),
    atMost('µs of a search by keywords, p99', 5_000, speed.p99Micros, 0),
    atMost('ms to compare 5,000 vectors of 1,024 dimensions, p50', 1, speed.vectorsMs),
    atMost('MB of the index, without vectors', 50, speed.heapMb, 1),
    atMost('MB of the selections of 1,000 callers', 50, speed.selectionsMb, 1),
  ]);

// Before anything else has warmed the process.
const speed = values.quality ? undefined : speedReport(measureSpeed());
if (speed !== undefined) {
  console.log(`${speed}\n`);
  if (values.write) await publish('optimizer speed', 'in one process, without a network', speed);
}
const report = await quality();
console.log(report);
const how = `${offeredTools().length} tools of ${toolsOfServers().length} servers`;
if (values.write) await publish('optimizer quality', how, report);
if (!values.quality) {
  const gateway = await gatewayReport(values.quick);
  console.log(`\n${gateway}`);
  if (values.write && !values.quick) await publish('optimizer gateway', '50 clients that search every 250 ms', gateway);
}

import type { SearchableTool } from '../../runtime/optimizer/search/index.ts';
import { ToolIndex } from '../../runtime/optimizer/search/index.ts';
import { labelledQueries, offeredTools } from './labelled.ts';

export interface Speed {
  readonly tools: number;
  readonly buildMs: number;
  readonly heapMb: number;
  /** Of a search by keywords. */
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Of a search by meaning alone among 5,000 vectors of 1,024 dimensions. */
  readonly vectorsMs: number;
  /** Of 1,000 selections of half of the tools each. */
  readonly selectionsMb: number;
}

const TOOLS = 2_000;
const CALLERS = 1_000;
const VECTORS = 5_000;
const DIMENSIONS = 1_024;
const ROUNDS = 10;

/** Times of one process that does nothing else, without a network. */
export const measureSpeed = (): Speed => {
  const tools = manyTools(TOOLS);
  const heapBefore = heapMb();
  const beganAt = performance.now();
  const index = new ToolIndex();
  const hashes = tools.map((tool) => index.add(tool));
  const buildMs = performance.now() - beganAt;
  const indexMb = heapMb() - heapBefore;
  const options = { among: index.select(hashes), limit: 8, semanticRatio: 0, distanceThreshold: 1 };
  const times = timesOf(() =>
    labelledQueries().map(
      ({ text }) =>
        () =>
          index.search({ text }, options),
    ),
  );
  const selectionsBefore = heapMb();
  const selections = Array.from({ length: CALLERS }, (_, caller) =>
    index.select(hashes.filter((_hash, at) => (at * 7 + caller) % 2 === 0)),
  );
  for (const among of selections) index.search({ text: 'list' }, { ...options, among });
  const selectionsMb = heapMb() - selectionsBefore;
  return {
    tools: index.size,
    buildMs,
    heapMb: indexMb,
    p50Micros: quantile(times, 0.5) * 1_000,
    p99Micros: quantile(times, 0.99) * 1_000,
    vectorsMs: vectorsMs(),
    selectionsMb,
  };
};

/** The real tools, and copies of them on further servers. */
const manyTools = (count: number): readonly SearchableTool[] =>
  Array.from({ length: Math.ceil(count / offeredTools().length) }, (_, copy) =>
    offeredTools().map((tool) => {
      const server = `${tool.server}${copy || ''}`;
      return { ...tool, server, name: `${server}${tool.name.slice(tool.server?.length)}` };
    }),
  )
    .flat()
    .slice(0, count);

const vectorsMs = (): number => {
  const index = new ToolIndex();
  const hashes = Array.from({ length: VECTORS }, (_, at) => {
    const hash = index.add({ name: `tool_${at}` });
    index.setVector(hash, someVector(at));
    return hash;
  });
  const options = { among: index.select(hashes), limit: 8, semanticRatio: 1, distanceThreshold: 2 };
  const queries = Array.from({ length: 50 }, (_, at) => someVector(VECTORS + at));
  return quantile(
    timesOf(() => queries.map((vector) => () => index.search({ text: '', vector }, options))),
    0.5,
  );
};

/** The same for the same seed. */
const someVector = (seed: number): Float32Array => {
  let state = seed + 1;
  return Float32Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
};

/** In milliseconds; the first round is not counted. */
const timesOf = (round: () => readonly (() => unknown)[]): readonly number[] => {
  const times: number[] = [];
  for (let at = 0; at <= ROUNDS; at += 1) {
    for (const call of round()) {
      const beganAt = performance.now();
      call();
      if (at > 0) times.push(performance.now() - beganAt);
    }
  }
  return times;
};

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? NaN;

/** Typed arrays included. */
const heapMb = (): number => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 1e6;
};

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, boolean, constantFrom, integer, option, property, record, tuple } from 'fast-check';
import {
  contentHashOf,
  type Hit,
  type Query,
  type SearchableTool,
  type SearchOptions,
  ToolIndex,
} from '../../../../runtime/optimizer/search/index.ts';

const CREATE_ISSUE: SearchableTool = {
  name: 'github_create_issue',
  description: 'Create a new issue in a GitHub repository',
  inputSchema: { type: 'object', properties: { title: { type: 'string', description: 'Title of the issue' } } },
  server: 'github',
};
const LIST_DIRECTORY: SearchableTool = {
  name: 'filesystem_listDirectory',
  description: 'Detailed listing of all files in a specified path',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  server: 'filesystem',
};
const FORECAST: SearchableTool = {
  name: 'weather_forecast',
  title: 'Weather forecast',
  description: 'Temperature and rain of the next days at a place',
  inputSchema: { type: 'object', properties: { cityName: { type: 'string', description: 'Name of a municipality' } } },
  server: 'weather',
};
const TICKETS: SearchableTool = { name: 'get-tickets', description: '查询12306余票信息。', server: 'trains' };
const TOOLS = [CREATE_ISSUE, LIST_DIRECTORY, FORECAST, TICKETS];

const indexOf = (tools: readonly SearchableTool[]): ToolIndex => {
  const index = new ToolIndex();
  for (const tool of tools) index.add(tool);
  return index;
};

const search = (
  index: ToolIndex,
  query: Query | string,
  options: Partial<SearchOptions> & { readonly tools?: readonly SearchableTool[] } = {},
): readonly Hit[] =>
  index.search(typeof query === 'string' ? { text: query } : query, {
    among: index.select((options.tools ?? TOOLS).map(contentHashOf)),
    limit: 8,
    semanticRatio: 0.5,
    distanceThreshold: 1,
    ...options,
  });

const names = (hits: readonly Hit[]): readonly string[] => hits.map(({ tool }) => tool.name);

for (const [fact, query, expected] of [
  ['by a word of its name', 'forecast', FORECAST],
  ['by a part of a name in camel case', 'directory', LIST_DIRECTORY],
  ['by another form of a word', 'creating issues', CREATE_ISSUE],
  ['by a word of its description', 'temperature', FORECAST],
  ['by the name of a parameter', 'city', FORECAST],
  ['by the description of a parameter', 'municipalities', FORECAST],
  ['by its server', 'github', CREATE_ISSUE],
  ['by a synonym', 'open a ticket in the repo', CREATE_ISSUE],
  ['by a misspelt word', 'forcast temprature', FORECAST],
  ['by words written as one', 'createissue', CREATE_ISSUE],
  ['by words of a script without spaces', '余票', TICKETS],
  ['by a question', 'what is the weather like tomorrow?', FORECAST],
] as const)
  test(`a tool is found ${fact}`, () => {
    assert.equal(search(indexOf(TOOLS), query)[0]?.tool, expected);
  });

test('what no tool has anything of finds nothing', () => {
  assert.deepEqual(search(indexOf(TOOLS), 'zzyzx qwrtpsdfg'), []);
  assert.deepEqual(search(indexOf(TOOLS), ''), []);
});

test('only tools of the selection are found', () => {
  assert.deepEqual(names(search(indexOf(TOOLS), 'github issue', { tools: [FORECAST] })), []);
});

/** Short texts of few words, so that tools have much in common; equal ones are equal as values, prototypes included. */
const someTool = record(
  {
    name: array(constantFrom('list', 'file', 'issue', 'user', 'get'), { minLength: 1, maxLength: 3 }).map((words) =>
      words.join('_'),
    ),
    description: array(constantFrom('list', 'files', 'issues', 'users', 'of', 'secret', 'vault')).map((words) =>
      words.join(' '),
    ),
  },
  { noNullPrototype: true },
);
const direction = array(integer({ min: 1, max: 9 }), { minLength: 3, maxLength: 3 });

test('tools outside of the selection change nothing: the answer is that of an index without them', () => {
  check(
    property(
      array(tuple(someTool, option(direction), boolean()), { maxLength: 12 }),
      constantFrom('list secrets', 'user files', 'vualt isue', 'get secret vault'),
      constantFrom(0, 0.5, 1),
      (all, text, semanticRatio) => {
        const visible = all.filter(([, , isVisible]) => isVisible);
        const [shared, alone] = [new ToolIndex(), new ToolIndex()];
        const give = (index: ToolIndex, [tool, vector]: (typeof all)[number]): void => {
          if (vector) index.setVector(contentHashOf(tool), new Float32Array(vector));
        };
        for (const each of all) shared.add(each[0]);
        for (const each of visible) alone.add(each[0]);
        const tools = visible.map(([tool]) => tool);
        const isVisible = new Set(tools.map(contentHashOf));
        for (const each of all) if (!isVisible.has(contentHashOf(each[0]))) give(shared, each);
        for (const each of visible) for (const index of [shared, alone]) give(index, each);
        const query = { text, vector: new Float32Array([1, 2, 3]) };
        assert.deepEqual(
          search(shared, query, { tools, semanticRatio }),
          search(alone, query, { tools, semanticRatio }),
        );
        const [inShared, inAlone] = [shared.select(tools.map(contentHashOf)), alone.select(tools.map(contentHashOf))];
        assert.deepEqual(shared.nearest(text, inShared, 5), alone.nearest(text, inAlone, 5));
        assert.deepEqual(shared.coverageOf(inShared), alone.coverageOf(inAlone));
      },
    ),
  );
});

test('a selection follows additions and removals, and never shows what took the place of a removed tool', () => {
  const index = indexOf([CREATE_ISSUE]);
  const among = index.select([CREATE_ISSUE, LIST_DIRECTORY].map(contentHashOf));
  assert.deepEqual(names(search(index, 'directory', { among })), []);
  index.add(LIST_DIRECTORY);
  assert.deepEqual(names(search(index, 'directory', { among })), [LIST_DIRECTORY.name]);
  index.remove(contentHashOf(LIST_DIRECTORY));
  index.add(FORECAST);
  assert.deepEqual(names(search(index, 'directory weather', { among })), []);
  assert.equal(index.size, 2);
});

test('what is known of a selection is kept while other tools come and go, and not beyond a change of its own', () => {
  const index = indexOf([CREATE_ISSUE]);
  const among = index.select([CREATE_ISSUE].map(contentHashOf));
  const { mask } = among;
  for (const tool of [LIST_DIRECTORY, FORECAST, TICKETS]) index.add(tool);
  index.remove(contentHashOf(FORECAST));
  assert.equal(among.mask, mask);
  assert.deepEqual(names(search(index, 'directory issue', { among })), [CREATE_ISSUE.name]);
  index.remove(contentHashOf(CREATE_ISSUE));
  index.add(CREATE_ISSUE);
  assert.notEqual(among.mask, mask);
  assert.deepEqual(names(search(index, 'directory isue', { among })), [CREATE_ISSUE.name]);
});

test('a content that several catalogs have is kept until the last one removes it', () => {
  const index = indexOf([FORECAST, FORECAST]);
  assert.equal(index.size, 1);
  index.remove(contentHashOf(FORECAST));
  assert.deepEqual(names(search(index, 'weather')), [FORECAST.name]);
  index.remove(contentHashOf(FORECAST));
  assert.deepEqual(names(search(index, 'weather')), []);
});

const withVectors = (): ToolIndex => {
  const index = indexOf(TOOLS);
  index.setVector(contentHashOf(CREATE_ISSUE), new Float32Array([2, 0]));
  index.setVector(contentHashOf(LIST_DIRECTORY), new Float32Array([1, 1]));
  index.setVector(contentHashOf(FORECAST), new Float32Array([-3, 0]));
  return index;
};
const EAST = new Float32Array([5, 0]);

test('the distance is 0 for the same direction and 2 for the opposite one', () => {
  const hits = search(withVectors(), { text: '', vector: EAST }, { semanticRatio: 1, distanceThreshold: 2 });
  assert.deepEqual(names(hits), [CREATE_ISSUE.name, LIST_DIRECTORY.name, FORECAST.name]);
  assert.deepEqual(
    hits.map(({ semanticDistance }) => Math.round((semanticDistance ?? NaN) * 1000) / 1000),
    [0, 0.293, 2],
  );
});

test('what is further away than the threshold is found by keywords only', () => {
  const query = { text: 'weather', vector: EAST };
  const options = { semanticRatio: 0.5, distanceThreshold: 0.2 };
  const hits = search(withVectors(), query, options);
  assert.deepEqual(new Set(names(hits)), new Set([FORECAST.name, CREATE_ISSUE.name]));
  assert.equal(hits.find(({ tool }) => tool === FORECAST)?.semanticDistance, undefined);
});

test('ratio 0 finds by keywords only, ratio 1 by meaning only', () => {
  const query = { text: 'weather', vector: EAST };
  assert.deepEqual(names(search(withVectors(), query, { semanticRatio: 0 })), [FORECAST.name]);
  assert.deepEqual(names(search(withVectors(), query, { semanticRatio: 1 })), [CREATE_ISSUE.name, LIST_DIRECTORY.name]);
});

test('the larger the ratio, the more the meaning counts', () => {
  const query = { text: 'weather', vector: EAST };
  assert.equal(search(withVectors(), query, { semanticRatio: 0.4 })[0]?.tool, FORECAST);
  assert.equal(search(withVectors(), query, { semanticRatio: 0.6 })[0]?.tool, CREATE_ISSUE);
});

test('without a vector of the query tools are found by keywords, whatever the ratio', () => {
  assert.deepEqual(names(search(withVectors(), 'weather', { semanticRatio: 1 })), [FORECAST.name]);
});

test('a change of one tool leaves one vector to be made', () => {
  const index = withVectors();
  assert.deepEqual(index.missingVectors(), [contentHashOf(TICKETS)]);
  index.setVector(contentHashOf(TICKETS), EAST);
  index.remove(contentHashOf(FORECAST));
  const changed = { ...FORECAST, description: 'Forecast of the weather' };
  index.add(changed);
  assert.deepEqual(index.missingVectors(), [contentHashOf(changed)]);
  assert.match(
    index.embeddingTextOf(contentHashOf(changed)) ?? '',
    /Weather forecast[^]*Forecast of the weather[^]*cityName/,
  );
});

test('vectors of another model are refused until the present ones are dropped', () => {
  const index = withVectors();
  const other = new Float32Array([1, 2, 3]);
  assert.throws(() => index.setVector(contentHashOf(TICKETS), other), RangeError);
  assert.throws(() => index.setVector(contentHashOf(TICKETS), new Float32Array([0, 0])), RangeError);
  assert.throws(() => index.setVector(contentHashOf(TICKETS), new Float32Array([NaN, 0])), RangeError);
  assert.deepEqual(search(index, { text: '', vector: other }, { semanticRatio: 1 }), []);
  index.clearVectors();
  index.setVector(contentHashOf(TICKETS), other);
  assert.deepEqual([index.vectorCount, index.dimensions], [1, 3]);
});

test('an explanation says what kept a tool from being found', () => {
  const index = withVectors();
  const options = {
    among: index.select([CREATE_ISSUE, LIST_DIRECTORY, FORECAST].map(contentHashOf)),
    limit: 1,
    semanticRatio: 0.5,
    distanceThreshold: 0.2,
  };
  const explain = (tool: SearchableTool, query: Query): unknown => index.explain(query, contentHashOf(tool), options);
  assert.deepEqual(explain(TICKETS, { text: 'x' }), { outcome: 'not_in_selection' });
  assert.deepEqual(explain(FORECAST, { text: 'weather' }), {
    outcome: 'found',
    rank: 1,
    keywordRank: 1,
    hasVector: true,
  });
  assert.deepEqual(explain(FORECAST, { text: 'rain issue', vector: EAST }), {
    outcome: 'beyond_limit',
    rank: 2,
    keywordRank: 2,
    semanticDistance: 2,
    isBeyondThreshold: true,
    hasVector: true,
  });
  assert.deepEqual(explain(LIST_DIRECTORY, { text: 'rain' }), { outcome: 'no_match', hasVector: true });
});

test('the nearest names are offered when nothing is found', () => {
  const index = indexOf(TOOLS);
  const nearest = index.nearest('wether', index.select(TOOLS.map(contentHashOf)), 2);
  assert.deepEqual([nearest.names[0], nearest.servers[0]], [FORECAST.name, FORECAST.server]);
  assert.equal(nearest.names.length, 2);
});

test('which tools lack vectors is told of the selection alone: a tool that a caller may not see changes nothing', () => {
  const index = indexOf(TOOLS);
  const among = index.select([FORECAST].map(contentHashOf));
  assert.deepEqual(index.coverageOf(among), { embedded: 0, refused: 0, missing: 1 });
  index.setVector(contentHashOf(FORECAST), new Float32Array([1, 0]));
  assert.deepEqual(index.coverageOf(among), { embedded: 1, refused: 0, missing: 0 });
  index.setRefused(contentHashOf(TICKETS));
  const all = index.select(TOOLS.map(contentHashOf));
  assert.deepEqual(index.coverageOf(all), { embedded: 1, refused: 1, missing: 2 });
});

test('a tool that was refused is not to be embedded, until it has another text or there is another model', () => {
  const index = withVectors();
  const [tickets] = [TICKETS].map(contentHashOf);
  index.setRefused(tickets ?? '');
  assert.deepEqual([index.missingVectors().length, index.refusedCount], [0, 1]);
  index.remove(tickets ?? '');
  index.add(TICKETS);
  assert.deepEqual([index.missingVectors().length, index.refusedCount], [1, 0]);
  index.setRefused(tickets ?? '');
  index.clearVectors();
  assert.deepEqual([index.missingVectors().length, index.refusedCount], [4, 0]);
});

test('a tool without a vector has the rank of its words, also where meaning alone counts', () => {
  const index = withVectors();
  const found = search(index, { text: '余票 issue', vector: EAST }, { semanticRatio: 1, distanceThreshold: 0.5 });
  assert.deepEqual(names(found), [TICKETS.name, CREATE_ISSUE.name, LIST_DIRECTORY.name]);
});

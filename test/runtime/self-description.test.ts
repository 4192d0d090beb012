import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instructionsOf } from '../../runtime/self-description.ts';
import { accepted } from './config/files.ts';

const backends = ['a', 'b'].map((name) => ({ name, url: `http://${name}.example/mcp`, transport: 'streamable-http' }));

for (const [aggregation, expected] of [
  [{}, `A tool's name is "<backend>_" followed by the name its backend gives it.`],
  [
    { conflictResolutionConfig: { prefixFormat: 'x-{workload}.' } },
    `A tool's name is "x-<backend>." followed by the name its backend gives it.`,
  ],
  [
    { conflictResolution: 'priority', conflictResolutionConfig: { priorityOrder: ['a'] } },
    'A tool has the name its backend gives it; where several backends give the same name and none of them is preferred, "<backend>_" comes before it.',
  ],
  [{ conflictResolution: 'manual' }, 'A tool has the name its backend gives it.'],
] as const) {
  test(`the instructions name the backends and how names are built under ${JSON.stringify(aggregation)}`, () => {
    assert.equal(
      instructionsOf(accepted({ backends, aggregation })),
      `This server joins the tools of: a, b. ${expected}`,
    );
  });
}

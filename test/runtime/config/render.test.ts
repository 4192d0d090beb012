import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import {
  type ConfigInput,
  formatDuration,
  loadConfig,
  isLoadable,
  renderBackends,
  renderConfig,
  textOf,
  writtenConfig,
  startupKeysOf,
} from '../../../runtime/config/index.ts';
import { MINIMAL, yaml } from './files.ts';

const minimal: ConfigInput = { incomingAuth: { type: 'anonymous' } };

suite('rendering', () => {
  test('only what differs from its default is written, the format version first', () => {
    assert.equal(
      renderConfig({
        ...minimal,
        name: 'vmcp',
        formatVersion: 1,
        aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}-' } },
        operational: { timeouts: { default: '0.5m' }, failureHandling: { circuitBreaker: {}, unhealthyThreshold: 3 } },
        extensions: { allowedHosts: [] },
        backends: [],
      }),
      [
        'formatVersion: 1',
        'aggregation:',
        '  conflictResolutionConfig:',
        '    prefixFormat: "{workload}-"',
        'incomingAuth:',
        '  type: anonymous',
        '',
      ].join('\n'),
    );
  });

  test('the order of keys and of map entries does not depend on the order they are given in', () => {
    const a = { name: 'x', metadata: { b: '1', a: '2' }, groupRef: 'g', ...minimal };
    const b = { ...minimal, groupRef: 'g', metadata: { a: '2', b: '1' }, name: 'x' };
    assert.equal(renderConfig(a), renderConfig(b));
  });

  test('the presence of an optional section is kept although it is empty', () => {
    assert.match(renderConfig({ ...minimal, optimizer: {} }), /^optimizer: \{\}$/m);
  });

  test('what the schema does not know is written, so that the runtime can refuse it', () => {
    const odd = { ...minimal, future: { z: 1, a: 2 } } as ConfigInput;
    assert.match(renderConfig(odd), /^future:\n {2}a: 2\n {2}z: 1$/m);
  });

  test('found backends are a file of their own', () => {
    const backends = [{ name: 'a', url: 'http://a.example', transport: 'streamable-http' as const }];
    assert.equal(
      renderBackends({ backends, outgoingAuth: { backends: { a: { type: 'unauthenticated' } } } }),
      [
        'formatVersion: 1',
        'backends:',
        '  - name: a',
        '    url: http://a.example',
        '    transport: streamable-http',
        'outgoingAuth:',
        '  backends:',
        '    a:',
        '      type: unauthenticated',
        '',
      ].join('\n'),
    );
  });

  test('start-up keys are the session store and telemetry, compared without defaults', () => {
    assert.deepEqual(startupKeysOf({ ...minimal, name: 'x', operational: { logLevel: 'debug' } }), {});
    assert.deepEqual(startupKeysOf({ ...minimal, telemetry: { samplingRate: '0.05', tracingEnabled: true } }), {
      telemetry: { tracingEnabled: true },
    });
    assert.deepEqual(startupKeysOf({ ...minimal, sessionStorage: { provider: 'memory', db: 0 } }), {
      sessionStorage: { provider: 'memory' },
    });
  });

  test('what is rendered is loaded as what was meant', () => {
    fc.assert(
      fc.property(anyFile, (file) => {
        const written = loadConfig([{ name: 'config.yaml', text: yaml(file) }]);
        const rendered = loadConfig([{ name: 'config.yaml', text: renderConfig(file) }]);
        assert.ok(written.ok, JSON.stringify(written));
        assert.ok(rendered.ok, JSON.stringify(rendered));
        assert.deepEqual(rendered.config, written.config);
        assert.equal(renderConfig(rendered.ok ? file : minimal), renderConfig(file));
        assert.ok(isLoadable({ main: writtenConfig(file), backends: {} }));
      }),
    );
  });

  const backend = { name: 'a', url: 'http://a.example', transport: 'streamable-http' } as const;
  const wrong: Readonly<Record<string, readonly [main: object, backends: object]>> = {
    'an unknown key': [{ ...minimal, nonsense: 1 }, {}],
    'a wrong type': [{ ...minimal, name: 5 }, {}],
    'a newer format': [minimal, { formatVersion: 99 }],
    'a backend in both files': [{ ...minimal, backends: [backend] }, { backends: [backend] }],
    'a backend that is wrong': [minimal, { backends: [{ ...backend, url: 'ftp://a.example' }] }],
    'a name used twice': [minimal, { backends: [backend, backend] }],
  };
  for (const [what, [main, backends]] of Object.entries(wrong)) {
    test(`values with ${what} are refused as the files that say so are`, () => {
      const said = [
        ['config.yaml', main],
        ['backends.yaml', backends],
      ] as const;
      const files = said.map(([name, value]) => ({ name, text: textOf(value as Readonly<Record<string, unknown>>) }));
      assert.deepEqual([isLoadable({ main, backends }), loadConfig(files).ok], [false, false]);
    });
  }
});

const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/);
const text = fc.string({ maxLength: 12 });
const time = fc.integer({ min: 1, max: 10_000_000 }).map(formatDuration);
const strings = fc.dictionary(
  text.filter((key) => key !== '__proto__'),
  text,
  { maxKeys: 3 },
);

/** Any file that is served today. */
const anyFile: fc.Arbitrary<ConfigInput> = fc
  .record(
    {
      name: word,
      groupRef: text,
      metadata: strings,
      backends: fc.uniqueArray(
        fc.record(
          {
            name: word,
            url: word.map((host) => `http://${host}/mcp`),
            transport: fc.constant('streamable-http' as const),
            type: fc.constantFrom('entry' as const, '' as const),
            metadata: strings,
          },
          { requiredKeys: ['name', 'url', 'transport'] },
        ),
        { selector: ({ name }) => name, maxLength: 4 },
      ),
      aggregation: fc.record(
        {
          conflictResolutionConfig: fc.record({
            prefixFormat: fc.constantFrom('{workload}_', '{workload}.', '', 'x-'),
          }),
        },
        { requiredKeys: [] },
      ),
      operational: fc.record(
        {
          logLevel: fc.constantFrom('debug' as const, '' as const),
          timeouts: fc.record(
            { default: time, perWorkload: fc.dictionary(word, time, { maxKeys: 3 }) },
            { requiredKeys: [] },
          ),
          failureHandling: fc.record(
            {
              partialFailureMode: fc.constantFrom('fail' as const, 'best_effort' as const),
              statusReportingInterval: time,
            },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: [] },
      ),
      extensions: fc.record({ allowedHosts: fc.array(word, { maxLength: 3 }) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map((file) => ({ ...MINIMAL, ...file }));

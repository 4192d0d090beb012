import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatProblem, loadConfig } from '../../../runtime/config/index.ts';
import { accepted, load, MINIMAL, problemsOf, yaml } from './files.ts';

const backend = (name: string) => ({ name, url: `http://${name}.example/mcp`, transport: 'streamable-http' });

suite('loading', () => {
  test('the smallest file has every default', () => {
    assert.deepEqual(accepted({}), {
      formatVersion: 1,
      name: 'vmcp',
      operational: {
        timeouts: { default: 30_000, perWorkload: {} },
        failureHandling: {
          healthCheckInterval: 30_000,
          healthCheckTimeout: 10_000,
          unhealthyThreshold: 3,
          partialFailureMode: 'fail',
          statusReportingInterval: 30_000,
          circuitBreaker: { enabled: false, failureThreshold: 5, timeout: 60_000 },
        },
      },
      extensions: {
        allowedHosts: [],
        allowedOrigins: [],
        audit: {
          mode: 'batch',
          bufferSize: 10_000,
          bufferBytes: 16_777_216,
          batchMaxSize: 400,
          batchMaxWait: 200,
          redact: [],
        },
        authServer: { refreshReuseWindow: 15_000, upstreams: {} },
        optimizer: { exceptClients: [], queryTimeout: 200 },
        tolerateHeaders: false,
        trustedProxies: [],
        callsPerSession: 32,
        callsPerBackend: 512,
        clientEra: 'auto',
        heldCallTtl: 300_000,
        issuers: [],
        perWorkload: {},
        rateLimiting: { whenStoreUnavailable: 'local' },
        sessionTtl: 1_800_000,
      },
      aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}_' } },
      backends: [],
      withheld: [],
      incomingAuth: { type: 'anonymous', relaysCredentials: false },
      outgoingAuth: { source: 'inline', backends: {} },
      management: { operatorKeys: [] },
    });
  });

  test('everything that works today is accepted', () => {
    const config = accepted({
      formatVersion: 1,
      name: 'tools',
      groupRef: 'team',
      metadata: { owner: 'me' },
      backends: [
        { ...backend('zeta'), type: 'entry' },
        { ...backend('alpha'), type: '', metadata: { a: 'b' } },
      ],
      aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}.x-' } },
      outgoingAuth: { source: 'discovered', default: { type: 'unauthenticated' } },
      operational: {
        logLevel: 'debug',
        timeouts: { default: '5s', perWorkload: { alpha: '1.5m' } },
        failureHandling: { partialFailureMode: 'best_effort', statusReportingInterval: '1m' },
      },
      sessionStorage: { provider: 'memory' },
      rateLimiting: {
        shared: { maxTokens: 10, refillPeriod: '1m' },
        tools: [{ name: 'alpha.x-echo', shared: { maxTokens: 1, refillPeriod: '1s' } }],
      },
      extensions: {
        allowedHosts: ['mcp.example.com'],
        allowedOrigins: ['https://app.example.com:8443'],
        perWorkload: { alpha: { era: 'legacy' } },
      },
      management: { audience: 'uid', operatorKeys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: '1' }] },
    });
    assert.deepEqual(config.operational.timeouts, { default: 5000, perWorkload: { alpha: 90_000 } });
    assert.equal(config.management.operatorKeys[0]?.['kid'], '1');
  });

  test('backends come in name order, whatever the order of the file', () => {
    const config = accepted({ backends: [backend('b'), backend('a-1'), backend('B'), backend('a')] });
    assert.deepEqual(
      config.backends.map(({ name }) => name),
      ['B', 'a', 'a-1', 'b'],
    );
  });

  test('nothing inside can be changed', () => {
    const config = accepted({ backends: [{ ...backend('a'), metadata: { k: 'v' } }] });
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
    assert.ok(frozen(config));
  });

  test('a file with nothing but comments lacks only what has no default', () => {
    assert.deepEqual(problemsOf('# nothing\n').map(formatProblem), [
      'config.yaml:1:1: incomingAuth: is missing; add incomingAuth with type: oidc or local or anonymous',
    ]);
  });

  test('every problem is reported, in the order of the lines', () => {
    const problems = problemsOf('nam: x\nbackends:\n  - url: 5\noperational:\n  logLevel: trace\nincomingAuth: {}\n');
    assert.deepEqual(
      problems.map(({ line, column, path }) => [line, column, path]),
      [
        [1, 1, 'nam'],
        [3, 5, 'backends[0].name'],
        [3, 5, 'backends[0].transport'],
        [3, 10, 'backends[0].url'],
        [5, 13, 'operational.logLevel'],
        [6, 1, 'incomingAuth.type'],
      ],
    );
  });

  test('a rule is checked although a sibling field has the wrong type', () => {
    const paths = problemsOf({ sessionStorage: { provider: 'kvstore', db: 'one' } }).map(({ reason }) => reason);
    assert.ok(paths.includes('provider kvstore needs address'));
  });

  test('an object in the place of a text, and a list in the place of a map, are one problem each', () => {
    assert.deepEqual(
      problemsOf({ name: { a: 1 }, operational: [1] }).map(({ path, reason }) => [path, reason]),
      [
        ['name', 'must be a text, not a map of keys and values'],
        ['operational', 'must be a map of keys and values, not a list'],
      ],
    );
  });

  test('a file of a newer format is refused with nothing but that', () => {
    const problems = problemsOf('formatVersion: 2\nfuture: {}\n').map(formatProblem);
    assert.deepEqual(problems, [
      'config.yaml:1:16: formatVersion: format 2 is newer than format 1, the newest that this version reads; ' +
        'run a newer vmcp, or write the file in the older format',
    ]);
  });

  test('aliases, tags, duplicate keys, a second document and odd keys are refused', () => {
    for (const [text, reason] of [
      ['a: &x 1\nb: *x\n', /aliases/],
      ['name: !!binary aGk=\n', /tags/],
      ['name: !secret x\n', /TAG|tag/],
      ['name: a\nname: b\n', /keys must be unique/],
      ['name: a\n---\nname: b\n', /not valid YAML/],
      ['metadata:\n  __proto__: x\n', /not a usable key/],
      ['<<: {name: a}\n', /unknown key/],
      ['name: "a\n', /not valid YAML/],
    ] as const) {
      const problems = problemsOf(text);
      assert.match(problems.map(formatProblem).join('\n'), reason, text);
    }
  });

  test('nesting without end is refused, not followed', () => {
    assert.ok(problemsOf(`metadata: ${'['.repeat(50_000)}`).length > 0);
  });

  test('a file above 4 MiB is refused unread', () => {
    const [problem, ...rest] = problemsOf(`# ${'x'.repeat(4 * 1024 * 1024)}\n`);
    assert.equal(problem?.reason, 'is larger than 4 MiB');
    assert.deepEqual(rest, []);
  });

  test('no file at all is a problem, not a crash', () => {
    assert.equal(loadConfig([]).ok, false);
  });
});

suite('backends.yaml', () => {
  const both = (main: Readonly<Record<string, unknown>>, found: Readonly<Record<string, unknown>>) =>
    loadConfig([
      { name: '/etc/vmcp/config/config.yaml', text: yaml({ ...MINIMAL, ...main }) },
      { name: '/etc/vmcp/config/backends.yaml', text: yaml(found) },
    ]);

  test('its backends and strategies join those of the main file', () => {
    const loaded = both(
      {
        backends: [backend('b')],
        outgoingAuth: { source: 'discovered', backends: { b: { type: 'unauthenticated' } } },
      },
      { backends: [backend('a')], outgoingAuth: { backends: { a: { type: 'unauthenticated' } } } },
    );
    assert.ok(loaded.ok);
    assert.deepEqual(
      loaded.config.backends.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.deepEqual(Object.keys(loaded.config.outgoingAuth.backends).toSorted(), ['a', 'b']);
  });

  test('names backends that are withheld, unless another of that name is served', () => {
    const message = 'secret "x" is missing';
    const withheld = ['c', 'b', 'a'].map((name) => ({ name, message }));
    const loaded = both({ backends: [backend('a')] }, { withheld });
    assert.ok(loaded.ok);
    assert.deepEqual(loaded.config.withheld, [
      { name: 'b', message },
      { name: 'c', message },
    ]);
    assert.ok(!both({}, { withheld: [{ name: 'b' }] }).ok);
    assert.ok(!load({ withheld }).ok);
  });

  test('a backend in both files is refused where the second stands', () => {
    const loaded = both({ backends: [backend('a')] }, { backends: [backend('a')] });
    assert.ok(!loaded.ok);
    assert.deepEqual(loaded.problems.map(formatProblem), [
      '/etc/vmcp/config/backends.yaml:2:11: backends[0].name: backend "a" is in both files; keep it in one of the two files',
    ]);
  });

  test('problems of both files are reported together', () => {
    const loaded = both({ nam: 'x' }, { backends: 5, formatVersion: 1 });
    assert.ok(!loaded.ok);
    assert.deepEqual(
      loaded.problems.map(({ file, path }) => [file.split('/').at(-1), path]),
      [
        ['config.yaml', 'nam'],
        ['backends.yaml', 'backends'],
      ],
    );
  });

  test('its strategies may name only upstream providers of the main file', () => {
    const strategy = (providerName: string) => ({ type: 'upstream_inject', upstreamInject: { providerName } });
    const authServer = { upstreamProviders: [{ name: 'idp' }] };
    const loaded = both({ authServer }, { outgoingAuth: { backends: { a: strategy('idp'), b: strategy('other') } } });
    assert.ok(!loaded.ok);
    assert.deepEqual(
      loaded.problems.filter(({ reason }) => reason.startsWith('no upstream provider')).map(({ path }) => path),
      ['outgoingAuth.backends.b.upstreamInject.providerName'],
    );
  });

  test('it holds nothing but backends and their strategies', () => {
    const loaded = both({}, { name: 'x' });
    assert.ok(!loaded.ok);
    assert.equal(loaded.problems[0]?.reason, 'unknown key');
  });
});

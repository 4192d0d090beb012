import { sections } from './sections.ts';

const backend = (more: object) => ({
  backends: [{ name: 'a', url: 'https://a.example', transport: 'streamable-http', ...more }],
});
const without = (key: string) => {
  const { [key]: _, ...rest } = { name: 'a', url: 'https://a.example', transport: 'sse' } as Record<string, string>;
  return { backends: [rest] };
};

sections({
  aggregation: [
    {
      fact: 'conflictResolution has three words',
      accepts: ['prefix', 'priority', 'manual'].map((word) => ({ aggregation: { conflictResolution: word } })),
      refuses: [
        [
          { aggregation: { conflictResolution: 'first' } },
          /^aggregation.conflictResolution: "first" is not a known value$/,
        ],
      ],
    },
    {
      fact: 'prefixFormat must give legal tool names',
      accepts: ['{workload}_', '{workload}', '{workload}.', 'x-{workload}-', '', 'fixed_'].map((prefixFormat) => ({
        aggregation: { conflictResolutionConfig: { prefixFormat } },
      })),
      refuses: ['{workload} ', '{server}_', 'ä', '{'].map((prefixFormat) => [
        { aggregation: { conflictResolutionConfig: { prefixFormat } } },
        'aggregation.conflictResolutionConfig.prefixFormat: gives illegal tool names',
      ]),
    },
    {
      fact: 'tools name their workload once',
      accepts: [{ aggregation: { tools: [{ workload: 'a', filter: ['x'], excludeAll: true }] } }],
      refuses: [
        [{ aggregation: { tools: [{ filter: ['x'] }] } }, 'aggregation.tools[0].workload: is missing'],
        [
          { aggregation: { tools: [{ workload: 'a' }, { workload: 'a' }] } },
          /\[1\].workload: workload "a" is already used by item 0/,
        ],
      ],
    },
    {
      fact: 'overrides change name, description and the five annotations',
      accepts: [
        {
          aggregation: {
            tools: [
              {
                workload: 'a',
                overrides: {
                  echo: {
                    name: 'say',
                    description: 'Says it.',
                    annotations: {
                      title: 't',
                      readOnlyHint: true,
                      destructiveHint: false,
                      idempotentHint: true,
                      openWorldHint: false,
                    },
                  },
                },
              },
            ],
          },
        },
      ],
      refuses: [
        [
          { aggregation: { tools: [{ workload: 'a', overrides: { echo: { annotations: { readonlyHint: true } } } }] } },
          'aggregation.tools[0].overrides.echo.annotations.readonlyHint: unknown key',
        ],
      ],
    },
    {
      fact: 'a reference to an MCPToolConfig is refused in a file',
      refuses: [
        [
          { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'x' } }] } },
          'aggregation.tools[0].toolConfigRef: belongs in a VirtualMCPServer',
        ],
      ],
    },
  ],
  backends: [
    {
      fact: 'name, url and transport are required',
      refuses: [
        [without('name'), 'backends[0].name: is missing'],
        [without('url'), 'backends[0].url: is missing'],
        [without('transport'), 'backends[0].transport: is missing'],
      ],
    },
    {
      fact: 'an address starts with http:// or https://',
      accepts: [
        backend({ url: 'http://a' }),
        backend({ url: 'https://a:8080/mcp?x=1' }),
        backend({ url: 'http://[::1]:80/' }),
      ],
      refuses: ['ftp://h', 'host:80', 'http://', 'HTTP//a', ''].map((url) => [
        backend({ url }),
        'backends[0].url: not an HTTP address',
      ]),
    },
    {
      fact: 'an address is one that can be connected to',
      accepts: ['http://under_score.x', 'http://a:65535', 'http://10.0.0.1/mcp?a=b@c', 'http://a/with space'].map(
        (url) => backend({ url }),
      ),
      refuses: [
        'http://h:99999/',
        'http://h:/x',
        'http://[::1/mcp',
        'http://[::::]/',
        'http://%/',
        'http://999.1.1.1/',
        'http://a b/',
        'https://user:secret@h/',
        'http://user@h/',
        'http://h/mcp#part',
      ].map((url) => [backend({ url }), 'backends[0].url: not an HTTP address']),
    },
    {
      fact: 'there are two transports',
      accepts: [backend({ transport: 'sse' })],
      refuses: [[backend({ transport: 'stdio' }), 'backends[0].transport: "stdio" is not a known value']],
    },
    {
      fact: 'the type is entry or empty',
      accepts: [backend({ type: 'entry' }), backend({ type: '' })],
      refuses: [[backend({ type: 'container' }), 'backends[0].type: "container" is not a known value']],
    },
    {
      fact: 'caBundlePath belongs to entries',
      accepts: [backend({ type: 'entry', caBundlePath: '/ca.crt' })],
      refuses: [
        [
          backend({ caBundlePath: '/ca.crt' }),
          'backends[0].caBundlePath: caBundlePath is allowed only with type entry',
        ],
        [backend({ type: '', caBundlePath: '/ca.crt' }), /only with type entry$/],
        [backend({ type: 'entry', caBundlePath: 'ca.crt' }), 'backends[0].caBundlePath: not an absolute path'],
      ],
    },
    {
      fact: 'metadata maps texts to texts',
      accepts: [backend({ metadata: { a: 'b' } })],
      refuses: [
        [
          backend({ metadata: { a: { b: 'c' } } }),
          'backends[0].metadata.a: must be a text, not a map of keys and values',
        ],
      ],
    },
    {
      fact: 'names are unique and fit into tool names',
      accepts: [backend({ name: 'a-b_C9' }), backend({ name: 'x'.repeat(63) })],
      refuses: [
        [
          { backends: [backend({}).backends[0], backend({}).backends[0]] },
          'backends[1].name: name "a" is already used by item 0',
        ],
        ...['a.b', '-a', 'a/b', 'a b'].map(
          (name) => [backend({ name }), 'backends[0].name: not a workload name'] as const,
        ),
        [backend({ name: 'x'.repeat(64) }), 'backends[0].name: must have at most 63 characters'],
        [backend({ name: '' }), 'backends[0].name: must not be empty', /not a workload name/],
      ],
    },
  ],
});

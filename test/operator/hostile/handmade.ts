import { hostileObject } from './hostile-object.ts';
import type { KubeObject } from '../../../operator/object.ts';

const server = (name: string, spec: object): KubeObject =>
  hostileObject('VirtualMCPServer', name, { groupRef: { name: 'g' }, incomingAuth: { type: 'anonymous' }, ...spec });

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));

const keys = (count: number, value: (index: number) => unknown): object =>
  Object.fromEntries(many(count, (index) => [`k${index}`, value(index)]));

const steps = (count: number, more: (index: number) => object): readonly object[] =>
  many(count, (index) => ({ id: `s${index}`, type: 'tool', tool: 'a.b', ...more(index) }));

const composite = (name: string, spec: object): KubeObject =>
  hostileObject('VirtualMCPCompositeToolDefinition', name, { name, description: 'd', ...spec });

const nested = (depth: number, leaf: unknown, wrap: (inner: unknown) => unknown): unknown => {
  let value = leaf;
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
};

const entry = (name: string, more: object = {}): KubeObject =>
  hostileObject('MCPServerEntry', name, {
    groupRef: { name: 'g' },
    remoteUrl: 'https://a.example.com/mcp',
    transport: 'sse',
    ...more,
  });

/** Every character that YAML, JSON, a terminal or a browser treats in a way of its own. */
export const ODD_CHARACTERS = [
  ...many(0x20, (code) => String.fromCharCode(code)),
  ...many(0x21, (code) => String.fromCharCode(0x7f + code)),
  '\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}\u{202e}\u{2066}\u{200b}\u{1f600}\u{10ffff}',
].join('');

const container = (more: object): object => ({ spec: { containers: [{ name: 'vmcp', ...more }] } });

/** Objects that once hurt an operator, and what lies next to them. */
export const handmade: Readonly<Record<string, KubeObject>> = {
  'free keys without end': server('free-keys', { config: { metadata: keys(70_000, () => 'x') } }),
  'steps that all depend on each other': composite('all-on-all', {
    steps: steps(500, (index) => ({ dependsOn: many(500, (each) => `s${each}`).filter((id) => id !== `s${index}`) })),
  }),
  'as many of them as may be': composite('all-on-all-within', {
    steps: steps(170, (index) => ({
      dependsOn: many(170, (each) => `s${each}`).filter((id) => id !== `s${index}`),
    })),
  }),
  'steps that depend on all before them': composite('all-before', {
    steps: steps(240, (index) => ({ dependsOn: many(index, (each) => `s${each}`) })),
  }),
  'steps that name all others in templates': composite('templates', {
    steps: steps(90, () => ({
      arguments: { all: many(90, (each) => `{{ .steps.s${each}.output.a }}`).join('') },
    })),
  }),
  'templates that open and never close': composite('open', {
    steps: steps(10, () => ({ arguments: keys(10, () => '{{ if '.repeat(400)) })),
  }),
  'conditions nested without end': composite('conditions', {
    steps: steps(10, () => ({ condition: `${'(not '.repeat(4_000)}true${')'.repeat(4_000)}` })),
  }),
  'a schema nested without end': composite('schema', {
    steps: steps(1, () => ({})),
    parameters: nested(400, { type: 'string' }, (inner) => ({ type: 'object', properties: { a: inner } })) as object,
  }),
  'patterns that explode': composite('patterns', {
    steps: steps(1, () => ({})),
    parameters: {
      type: 'object',
      properties: keys(2_000, () => ({ type: 'string', pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' })),
    },
  }),
  'policies without end': server('policies', {
    incomingAuth: {
      type: 'anonymous',
      authzConfig: {
        type: 'inline',
        inline: {
          policies: many(
            350,
            (index) =>
              `permit(principal, action, resource) when { ${'('.repeat(300)}${index} == 1${')'.repeat(300)} };`,
          ),
        },
      },
    },
  }),
  'a pod template nested without end': server('deep-template', {
    podTemplateSpec: container({ env: [{ name: 'a', value: 'b' }], x: nested(3_000, 1, (inner) => ({ a: inner })) }),
  }),
  'a pod template of many containers': server('wide-template', {
    podTemplateSpec: {
      spec: {
        containers: many(1_900, (index) => ({
          name: `c${index}`,
          image: 'a',
          env: [{ name: 'a', value: 'b'.repeat(50) }],
        })),
      },
    },
  }),
  'a quantity that no number can hold': server('quantity', {
    podTemplateSpec: container({ resources: { limits: { memory: '1e999999999' }, requests: { cpu: '9e-999999999' } } }),
  }),
  'quantities of a workload': hostileObject('MCPServer', 'workload', {
    image: 'a',
    transport: 'stdio',
    resources: { limits: { memory: '1e999999999' } },
  }),
  'odd characters in every text': server('odd', {
    config: { metadata: { [`a${ODD_CHARACTERS}`]: ODD_CHARACTERS, plain: ODD_CHARACTERS.repeat(100) } },
  }),
  'headers without end': entry('headers', {
    headerForward: { addPlaintextHeaders: keys(9_000, () => 'x'.repeat(100)) },
  }),
  'annotations up to the limit': {
    ...entry('annotated'),
    metadata: { name: 'annotated', namespace: 'hostile', annotations: { a: 'x'.repeat(250_000) } },
  },
  'paths that grow with what is wrong': composite('long-paths', {
    steps: steps(1, () => ({})),
    parameters: { ['k'.repeat(50_000)]: many(2_000, () => ({ type: 'nothing' })) },
  }),
  '… in what another one names': server('names-long-paths', {
    config: { compositeToolRefs: [{ name: 'long-paths' }, { name: 'all-on-all-within' }, { name: 'all-before' }] },
  }),
  'a pod template of small containers': server('small-containers', {
    podTemplateSpec: { spec: { containers: many(2_500, (index) => ({ name: `c${index}` })) } },
  }),
  'labels without end': {
    ...hostileObject('MCPGroup', 'labelled', {}),
    metadata: { name: 'labelled', namespace: 'hostile', labels: keys(60_000, () => 'v') as Record<string, string> },
  },
  'labels of what is not ours': {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'labelled', namespace: 'hostile', labels: keys(60_000, () => 'v') as Record<string, string> },
  },
  'a prototype': server('proto', {
    config: { metadata: JSON.parse('{"__proto__":{"a":"b"},"constructor":"c"}') as object },
  }),
};

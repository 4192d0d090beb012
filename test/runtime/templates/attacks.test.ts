import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_TEMPLATE,
  type TemplateBounds,
  TemplateError,
  TemplateSyntaxError,
  expandTemplate,
  fieldsOf,
  parseTemplate,
} from '../../../runtime/templates/index.ts';

const boundOf = (text: string, data: Readonly<Record<string, unknown>> = {}, bounds: TemplateBounds = {}): string => {
  try {
    return `text of ${expandTemplate(parseTemplate(text), data, bounds).length}`;
  } catch (error) {
    if (error instanceof TemplateError) return error.bound ?? error.reason;
    throw error;
  }
};

const doubling = (times: number): string =>
  `{{$x := "0123456789abcdef"}}${'{{$x = print $x $x}}'.repeat(times)}{{len $x}}`;
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + 'x' + close.repeat(depth);
const deep = (depth: number): unknown => {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

const mapOf = (keys: number): object => Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]));

const attacks: readonly (readonly [
  name: string,
  text: string,
  bound: string,
  data?: Readonly<Record<string, unknown>>,
])[] = [
  ['a loop over a large number', '{{range 9223372036854775807}}{{end}}', 'steps'],
  ['a loop over a large number of the data', '{{range .n}}{{end}}', 'steps', { n: Number.MAX_SAFE_INTEGER }],
  ['loops inside loops', '{{range 1000}}{{range 1000}}{{range 1000}}{{end}}{{end}}{{end}}', 'steps'],
  [
    'a loop that prints',
    '{{range 1000000}}0123456789012345678901234567890123456789012345678901234567890123456789{{end}}',
    'output',
  ],
  ['a text that doubles itself', doubling(40), 'output'],
  ['escapes that grow', `{{$x := "<"}}${'{{$x = html $x $x}}'.repeat(30)}`, 'steps'],
  ['quotes that grow', `{{$x := "\\""}}${'{{$x = quote $x}}'.repeat(30)}`, 'output'],
  ['JSON inside of JSON', `{{$x := "\\""}}${'{{$x = json $x}}'.repeat(40)}`, 'output'],
  ['a wide column', '{{printf "%1000000d%1000000d" 1 1}}', 'output'],
  ['a wide column by an argument', '{{range 10}}{{printf "%*d" 1000000 1}}{{end}}', 'output'],
  ['many digits', '{{range 10}}{{printf "%.1000000f" 1.5}}{{end}}', 'output'],
  ['many wide columns that nobody sees', '{{range 1000}}{{$x := printf "%1000000d" 1}}{{end}}', 'steps'],
  ['a template that invokes itself', '{{define "t"}}{{template "t"}}{{end}}{{template "t"}}', 'depth'],
  [
    'a template that invokes itself twice',
    '{{define "t"}}{{if gt . 0}}{{template "t" .}}{{template "t" .}}{{end}}{{end}}{{template "t" 1}}',
    'depth',
  ],
  [
    'definitions that double',
    Array.from(
      { length: 60 },
      (_, n) => `{{define "t${n}"}}{{template "t${n + 1}"}}{{template "t${n + 1}"}}{{end}}`,
    ).join('') + '{{define "t60"}}{{end}}{{template "t0"}}',
    'steps',
  ],
  ['data nested very deep', '{{json .x}}', 'depth', { x: deep(600) }],
  ['data nested very deep, printed', '{{.x}}', 'depth', { x: deep(600) }],
  ['JSON nested very deep', '{{fromJson .x}}', 'depth', { x: nested(100_000, '[', ']').replace('x', '') }],
  [
    'sorting many keys again and again',
    '{{range 1000000}}{{range $.map}}{{end}}{{end}}',
    'steps',
    { map: mapOf(1_000) },
  ],
  [
    'a list that is printed again and again',
    '{{range 100000}}{{$x := print $.list}}{{end}}',
    'steps',
    { list: Array.from({ length: 1000 }, (_, n) => n) },
  ],
  [
    'JSON that is read again and again',
    '{{range 100000}}{{$x := fromJson $.text}}{{end}}',
    'steps',
    { text: JSON.stringify(Array.from({ length: 1000 }, (_, n) => n)) },
  ],
  [
    'texts that are compared again and again',
    '{{range 100000000}}{{if eq $.a $.b}}{{end}}{{end}}',
    'steps',
    { a: 'x'.repeat(100_000), b: 'x'.repeat(100_000) + 'y' },
  ],
  ...['eq', 'ne', 'lt', 'le', 'gt', 'ge'].map(
    (name) =>
      [
        `long texts, and ${name}`,
        `{{range 1000}}{{$x := ${name} $.a $.b}}{{end}}`,
        'steps',
        { a: 'x'.repeat(100_000), b: 'x'.repeat(99_999) + 'y' },
      ] as const,
  ),
  ...['len $.map', 'not $.map', 'and $.map $.map', 'or $.map $.map'].map(
    (call) =>
      [`a large map, and ${call}`, `{{range 10000}}{{$x := ${call}}}{{end}}`, 'steps', { map: mapOf(1_000) }] as const,
  ),
  ['a condition on a large map', '{{range 10000}}{{if $.map}}{{end}}{{end}}', 'steps', { map: mapOf(1_000) }],
  ['a map of more keys than can be sorted in time', '{{range .map}}{{break}}{{end}}', 'steps', { map: mapOf(30_000) }],
];

for (const [name, text, bound, data] of attacks) {
  test(`${name} ends at a bound`, () => {
    assert.equal(boundOf(text, data, { maxSteps: 200_000 }), bound);
  });
}

test('an expansion ends when its time is over, by the clock that it is given', () => {
  let now = 0;
  const clock = () => (now += 1);
  assert.equal(boundOf('{{range 1000000}}{{end}}', {}, { now: clock, maxMs: 50 }), 'time');
  assert.ok(now < 100, `${now} looks at the clock`);
});

test('the beginning of a long text is taken without reading all of it', () => {
  const bounds = { now: () => performance.now(), maxMs: 2_000 };
  const text = '{{range 200}}{{printf "%.1s" $.text}}{{end}}';
  assert.equal(boundOf(text, { text: 'é'.repeat(4_000_000) }, bounds), 'text of 200');
});

test('bounds are counted for each expansion anew', () => {
  const template = parseTemplate('{{range 10}}{{.}}{{end}}');
  for (let times = 0; times < 3; times += 1)
    assert.equal(expandTemplate(template, {}, { maxSteps: 100 }), '0123456789');
});

test('the result may have as many bytes as its bound, characters beyond ASCII counted as UTF-8', () => {
  assert.equal(boundOf('{{.x}}', { x: 'é'.repeat(5) }, { maxOutputBytes: 10 }), 'text of 5');
  assert.equal(boundOf('{{.x}}', { x: 'é'.repeat(6) }, { maxOutputBytes: 10 }), 'output');
});

const malformed: readonly (readonly [name: string, text: string])[] = [
  ['too many parentheses', `{{${nested(10_000, '(', ')')}}}`],
  ['too many blocks', nested(5_000, '{{if 1}}', '{{end}}')],
  ['a long chain of else if', `{{if 1}}${'{{else if 1}}'.repeat(4_000)}{{end}}`],
  ['too many variables', '{{$x := 1}}'.repeat(5_000)],
  ['a template that is too long', 'x'.repeat(MAX_TEMPLATE + 1)],
  ['very many spaces', `{{${' '.repeat(60_000)}`],
  ['very many spaces before a trim marker', `${' \n'.repeat(30_000)}{{- `],
  ['very many quotes', `{{"${'\\"'.repeat(30_000)}`],
  ['very many dots', `{{${'.'.repeat(60_000)}}}`],
  ['very many digits', `{{${'1_'.repeat(30_000)}}}`],
  ['very many open actions', '{{'.repeat(30_000)],
];

for (const [name, text] of malformed) {
  test(`${name}: refused`, () => {
    assert.throws(() => parseTemplate(text), TemplateSyntaxError);
  });
}

test('the longest templates are parsed and searched', () => {
  const long = [
    '{{.a.b}}'.repeat(8_000),
    `{{print ${'.a '.repeat(20_000)}}}`,
    '{{$x := .steps}}{{$x.a}}'.repeat(250) + '{{$x.a}}'.repeat(7_000),
    `{{.a${' | print'.repeat(8_000)}}}`,
    Array.from({ length: 1_400 }, (_, n) => `{{define "t${n}"}}{{.a}}{{end}}`).join('') + '{{template "t0" .}}',
  ];
  for (const text of long) assert.ok(fieldsOf(parseTemplate(text)).length > 0);
});

test('prototypes are out of reach', () => {
  const data = JSON.parse('{"o": {"__proto__": {"x": "own"}}, "l": [1], "s": "text"}') as Record<string, unknown>;
  const text =
    '{{.o.constructor}}{{.constructor.constructor}}{{.o.__proto__.x}}{{index .o "__proto__" "x"}}{{.__proto__}}{{index . "toString"}}{{.o.__proto__.constructor}}';
  assert.equal(expandTemplate(parseTemplate(text), data), '<no value><no value>ownown<no value><no value><no value>');
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('names of things that JavaScript objects have are no functions', () => {
  for (const name of ['constructor', 'toString', 'valueOf', '__proto__', 'hasOwnProperty'])
    assert.throws(() => parseTemplate(`{{${name}}}`), { reason: `there is no function ${name}` });
});

test('what JSON cannot hold counts as absent', () => {
  const data = { f: () => 'called', u: undefined, s: Symbol('s') };
  assert.equal(expandTemplate(parseTemplate('{{.f}}{{.f.name}}{{.u}}{{.s}}'), data), '<no value>'.repeat(4));
});

test('a name in a definition may be any text', () => {
  assert.equal(expandTemplate(parseTemplate('{{define "__proto__"}}x{{end}}{{template "__proto__"}}'), {}), 'x');
});

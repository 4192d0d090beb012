import * as fc from 'fast-check';

/** Templates from a grammar, with data that they read. Most are valid; what Go refuses is part of them, too. */

const key = fc.constantFrom('a', 'b', 'c', 'list', 'map', 'text', 'none', 'missing', 'constructor', '__proto__');
const word = fc.oneof(
  fc.string({ maxLength: 6, unit: 'grapheme' }),
  fc.constantFrom('', 'x', 'prod', '<b>&"\'', 'é✓😀', '\n\t', '{"a": [1, 2.5]}', '%d', '-7'),
);
const number = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, 2.5, 1e6, 1234567, 1e21, 1e-7, -0.001, 123456.789, 9007199254740991),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
);

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    word,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

export const data = fc.record({
  a: json.value,
  b: json.value,
  c: number,
  list: fc.array(json.value, { maxLength: 4 }),
  map: fc.dictionary(key, json.value, { maxKeys: 4, noNullPrototype: true }),
  text: word,
  none: fc.constant(null),
});

const quoted = word.map((text) => {
  const escaped = JSON.stringify(text.toWellFormed()).replaceAll('\\/', '/');
  return text.includes('`') || text.includes('\\') || fc.stringify(text).length % 2
    ? escaped
    : `\`${text.replaceAll('\r', '')}\``;
});
const literal = fc.oneof(
  quoted,
  number.map((value) => (Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : value.toExponential())),
  fc.constantFrom('true', 'false', 'nil', "'x'", '0x1f', '1.0', '2.5'),
);
const path = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.map((one) => `.${one}`).join(''));

const verb = fc
  .tuple(
    fc.constantFrom('', '-', '0', '+', ' ', '#', '#0', '+-', ' 0'),
    fc.constantFrom('', '', '3', '8', '20', '*', '[1]', '[2]'),
    fc.constantFrom('', '', '.', '.0', '.2', '.5', '.*'),
    fc.constantFrom('v', 'v', 's', 'q', 't', 'e', 'f', 'g', 'G', 'T', 'z', '%'),
  )
  .map((parts) => `%${parts.join('')}`);
const pattern = fc
  .array(fc.oneof(verb, fc.constantFrom('x', ' ', '-')), { maxLength: 3 })
  .map((parts) => `"${parts.join('')}"`);

const grammar = fc.letrec<Record<'operand' | 'command' | 'pipeline' | 'node' | 'nodes', string>>((tie) => ({
  operand: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('.', '$', '$x'),
    path,
    path,
    path.map((text) => `$${text}`),
    literal,
    tie('pipeline').map((text) => `(${text})`),
  ),
  command: fc.oneof(
    { maxDepth: 4 },
    tie('operand'),
    fc
      .tuple(
        fc.constantFrom('print', 'println', 'html', 'js', 'urlquery', 'and', 'or', 'index', 'slice'),
        fc.array(tie('operand'), { minLength: 1, maxLength: 3 }),
      )
      .map(([name, args]) => `${name} ${args.join(' ')}`),
    fc
      .tuple(fc.constantFrom('len', 'not', 'json', 'fromJson', 'quote'), tie('operand'))
      .map((parts) => parts.join(' ')),
    fc
      .tuple(fc.constantFrom('ne', 'lt', 'le', 'gt', 'ge', 'eq'), tie('operand'), tie('operand'))
      .map((parts) => parts.join(' ')),
    fc
      .tuple(pattern, fc.array(tie('operand'), { maxLength: 3 }))
      .map(([text, args]) => `printf ${[text, ...args].join(' ')}`),
  ),
  pipeline: fc.oneof(
    { maxDepth: 4 },
    tie('command'),
    tie('command'),
    fc
      .tuple(
        tie('command'),
        fc.constantFrom('print', 'json', 'len', 'html', 'not', 'printf "%v-%v" 1', 'and true', 'eq 1'),
      )
      .map((parts) => parts.join(' | ')),
  ),
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('text', ' \n ', '<', '{{/* c */}}', '{{- "t" -}}'),
    tie('pipeline').map((text) => `{{${text}}}`),
    fc
      .tuple(fc.constantFrom('{{', '{{- '), tie('pipeline'), fc.constantFrom('}}', ' -}}'))
      .map((parts) => parts.join('')),
    tie('pipeline').map((text) => `{{$x := ${text}}}{{$x}}`),
    tie('pipeline').map((text) => `{{$x = ${text}}}`),
    fc
      .tuple(
        fc.constantFrom('if', 'with', 'range', 'range $i, $x :=', 'range $x :=', 'with $x :='),
        tie('pipeline'),
        tie('nodes'),
        tie('nodes'),
      )
      .map(([control, value, body, otherwise]) => `{{${control} ${value}}}${body}{{else}}${otherwise}{{end}}`),
    fc.tuple(tie('pipeline'), tie('nodes')).map(([value, body]) => `{{range ${value}}}${body}{{break}}{{end}}`),
    tie('operand').map((text) => `{{template "t" ${text}}}`),
  ),
  nodes: fc.array(tie('node'), { maxLength: 3 }).map((parts) => parts.join('')),
}));

export const template = grammar.nodes.map((text) => `{{$x := 1}}{{define "t"}}<{{.}}>{{end}}${text}`);

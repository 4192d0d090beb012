import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TemplateError, TemplateSyntaxError, expandTemplate, parseTemplate } from '../../../runtime/templates/index.ts';

const syntaxError = (text: string): TemplateSyntaxError => {
  try {
    parseTemplate(text);
  } catch (error) {
    if (error instanceof TemplateSyntaxError) return error;
    throw error;
  }
  return assert.fail(`${text} is accepted`);
};

const failure = (text: string, data: Readonly<Record<string, unknown>> = {}): TemplateError => {
  try {
    expandTemplate(parseTemplate(text), data);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  return assert.fail(`${text} has a result`);
};

const refused: readonly (readonly [text: string, line: number, column: number, reason: string, remedy?: string])[] = [
  ['a {{.x', 1, 7, 'an action has no end', 'close it with }}'],
  ['{{if .x}}\n  yes', 2, 6, 'the template ends too early', 'close every if, range and with by {{end}}'],
  ['{{end}}', 1, 3, 'end without if, range or with'],
  ['{{"abc}}', 1, 3, 'a text has no end', 'close it with "'],
  ['one\n{{ nope .x }}', 2, 4, 'there is no function nope'],
  ['{{call .x}}', 1, 3, 'call is not available', 'data hold no functions'],
  ['{{$x}}', 1, 3, 'the variable $x is not declared', 'declare it before, as in {{$x := …}}'],
  ['{{.steps.my-step.output}}', 1, 12, 'unexpected character "-" after a name'],
  ['{{eq .x}}', 1, 3, 'eq takes at least 2 arguments, not 1'],
  ['{{len}}', 1, 3, 'len takes 1 argument, not 0'],
  [
    '{{.x .y}}',
    1,
    3,
    'arguments are given to what is no function',
    'put the name of a function first, or a pipe before it',
  ],
  ['{{.x | .y}}', 1, 8, 'a pipeline goes on with a function'],
  ['{{}}', 1, 3, 'a value is missing here'],
  ['{{nil}}', 1, 3, 'nil is no value by itself', 'compare with it, as in eq .x nil'],
  ['{{break}}', 1, 3, 'break outside of range'],
  ['{{template "a"}}', 1, 12, 'no template is defined as "a"'],
  ['{{9223372036854775808}}', 1, 3, '9223372036854775808 overflows int'],
  ['{{1i}}', 1, 3, '"1i" is no number'],
  ['{{"\\q"}}', 1, 3, 'an escape that Go does not know'],
];

for (const [text, line, column, reason, remedy] of refused) {
  test(`${JSON.stringify(text)} is refused with its place and reason`, () => {
    const error = syntaxError(text);
    assert.deepEqual([error.position, error.reason], [{ line, column }, reason]);
    if (remedy !== undefined) assert.equal(error.remedy, remedy);
  });
}

test('the remedy for an unknown function names those that there are', () => {
  assert.match(syntaxError('{{nope}}').remedy ?? '', /^use one of and, or, not, eq, .*, json, fromJson, quote$/);
});

test('an expansion that fails says where and why, without any value of the data', () => {
  const error = failure('id:\n  {{.steps.a.secret.field}}', { steps: { a: { secret: 'hunter2' } } });
  assert.deepEqual(
    [error.position, error.reason, error.bound],
    [{ line: 2, column: 5 }, 'no field field in a value of type string', undefined],
  );
  assert.doesNotMatch(error.message, /hunter2/);
});

test('a function that fails is where the error points', () => {
  assert.deepEqual(failure('{{.a}} {{index .a 1}}', { a: [] }).position, { line: 1, column: 10 });
});

test('the same template is expanded any number of times', () => {
  const template = parseTemplate('{{$n := 0}}{{range .list}}{{$n = .}}{{end}}{{$n}}');
  assert.deepEqual(
    [{ list: [1, 2] }, {}, { list: ['x'] }].map((data) => expandTemplate(template, data)),
    ['2', '0', 'x'],
  );
});

test('what a template makes is not read as a template again', () => {
  assert.equal(expandTemplate(parseTemplate('{{.x}}'), { x: '{{.secret}}', secret: 's' }), '{{.secret}}');
});

test('data are left as they are', () => {
  const data = Object.freeze({ list: Object.freeze([3, 1, 2]), map: Object.freeze({ b: 1, a: 2 }) });
  assert.equal(
    expandTemplate(parseTemplate('{{range .map}}{{.}}{{end}}{{slice .list 1}}{{json .}}'), data).length > 0,
    true,
  );
});

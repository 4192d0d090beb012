import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, parseTemplate } from '../../../runtime/templates/index.ts';

const paths = (text: string): readonly string[] => fieldsOf(parseTemplate(text)).map(({ path }) => path.join('.'));

const cases: readonly (readonly [text: string, ...paths: readonly string[]])[] = [
  ['no action'],
  ['{{.params.x}}', 'params.x'],
  ['{{.steps.a.output.id}} {{$.params.y}}', 'steps.a.output.id', 'params.y'],
  ['{{(.steps.a).output}}', 'steps.a', 'steps.a.output'],
  ['{{eq .steps.a.output.action "accept"}}', 'steps.a.output.action'],
  ['{{.params.x | printf "%s-%s" .params.y}}', 'params.x', 'params.y'],
  ['{{and .params.a (not .params.b)}}', 'params.a', 'params.b'],
  // Keys that are no names.
  ['{{index .steps "my-step" "output" "x"}}', 'steps.my-step.output.x'],
  ['{{(index .steps "my-step").output.x}}', 'steps.my-step', 'steps.my-step.output.x'],
  ['{{index .steps .params.which "output"}}', 'steps', 'params.which'],
  ['{{index .steps.a.output.list 0 "id"}}', 'steps.a.output.list'],
  ['{{index .steps.a.output "list" 0}}', 'steps.a.output', 'steps.a.output.list'],
  // Dot and variables
  ['{{with .steps.a}}{{.output.x}}{{$.params.y}}{{end}}', 'steps.a', 'steps.a.output.x', 'params.y'],
  ['{{with .steps}}{{.a.output}}{{end}}', 'steps.a.output'],
  ['{{with .steps}}{{json .}}{{end}}', 'steps'],
  ['{{$s := .steps}}{{$s.a.output}}', 'steps.a.output'],
  ['{{$s := .steps}}{{range $s}}x{{end}}', 'steps'],
  ['{{$s := .steps.a}}{{if true}}{{$s.output}}{{end}}', 'steps.a', 'steps.a.output'],
  ['{{$s := .steps.a}}{{$s = .steps.b}}{{$s.output}}', 'steps.a', 'steps.b'],
  ['{{with $x := .params}}{{$x.y}}{{.z}}{{else}}{{.params.w}}{{end}}', 'params.y', 'params.z', 'params.w'],
  ['{{with .steps.a | json}}{{.output}}{{end}}', 'steps.a'],
  // Items of a loop are not followed, the root is.
  ['{{range .steps.a.output.list}}{{.id}}{{$.params.x}}{{end}}', 'steps.a.output.list', 'params.x'],
  ['{{range $i, $e := .params.list}}{{$e.id}}{{else}}{{.params.none}}{{end}}', 'params.list', 'params.none'],
  // Everything
  ['{{json .}}', ''],
  ['{{json $}}', ''],
  // Definitions
  ['{{define "t"}}{{.steps.a.output}}{{$.params.x}}{{end}}{{template "t" .}}', 'steps.a.output', 'params.x'],
  ['{{define "t"}}{{.output}}{{end}}{{template "t" .steps.a}}', 'steps.a', 'steps.a.output'],
  ['{{define "t"}}{{.steps.a}}{{end}}unused'],
  ['{{block "t" .steps}}{{.a.output}}{{end}}', 'steps.a.output'],
  ['{{define "t"}}{{if .a}}{{template "t" .}}{{end}}{{end}}{{template "t" .}}', 'a'],
  ['{{$x := .params.x}}{{define "t"}}{{.y}}{{end}}{{template "t" "text"}}', 'params.x'],
];

for (const [text, ...expected] of cases) {
  test(`${text} reads ${expected.map((path) => JSON.stringify(path)).join(', ') || 'nothing'}`, () => {
    assert.deepEqual(paths(text), expected);
  });
}

test('each reference has its place', () => {
  assert.deepEqual(
    fieldsOf(parseTemplate('a\n {{.params.x}} {{print .steps.a.output}}')).map(({ position }) => position),
    [
      { line: 2, column: 4 },
      { line: 2, column: 24 },
    ],
  );
});

test('definitions that hand on ever deeper places count as reading everything', () => {
  assert.ok(paths('{{define "t"}}{{template "t" .x}}{{end}}{{template "t" .steps}}').includes(''));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidConfigError } from '../../runtime/config/index.ts';
import { drawWorkflow } from '../../runtime/draw-workflow.ts';

const fileOf = (text: string) => ({ name: 'w.yaml', text });

const CONFIG = `compositeTools:
  - name: triage
    steps:
      - { id: issue, tool: tracker.get }
      - { id: team, tool: directory.list, condition: '{{.params.team}}', defaultResults: {} }
      - { id: ask, type: elicitation, message: 'Who shall have {{.steps.issue.output.title}}?' }
      - id: tell
        type: forEach
        dependsOn: [ask, team]
        collection: '{{json .params.channels}}'
        step: { tool: chat.post }
        onError: { action: continue }
`;

test('a workflow is drawn for Mermaid, dependencies of templates dashed', () => {
  assert.deepEqual(drawWorkflow({ file: fileOf(CONFIG), name: 'triage', form: 'mermaid' }), {
    exitCode: 0,
    complaints: '',
    output: `flowchart TD
  s0["issue<br/>tracker.get"]
  s1["team<br/>directory.list<br/>may be skipped"]
  s2{{"ask<br/>asks the user"}}
  s3[["tell<br/>for each: chat.post<br/>on error: continue"]]
  s0 -.-> s2
  s2 --> s3
  s1 --> s3
`,
  });
});

test('and as SVG, in layers, each step below those that it waits for', () => {
  const { output } = drawWorkflow({ file: fileOf(CONFIG), name: 'triage', form: 'svg' });
  const top = (id: string): number => Number(new RegExp(`y="(\\d+)"[^>]*>${id}</text>`).exec(output)?.[1]);
  assert.ok(top('issue') < top('ask') && top('ask') < top('tell'), output);
  assert.equal(top('issue'), top('team'));
  assert.equal(output.match(/stroke-dasharray/g)?.length, 1);
});

test('manifests are read, too, and a workflow with faults is drawn beside what is wrong with it', () => {
  const text = `kind: VirtualMCPServer
spec: { config: { compositeTools: [{ name: a, steps: [{ id: x, tool: t.u, dependsOn: [y] }, { id: y, tool: t.u, dependsOn: [x] }] }] } }
---
kind: VirtualMCPCompositeToolDefinition
spec: { name: b, steps: [{ id: x, tool: t.u, condition: '{{' }] }
`;
  assert.match(drawWorkflow({ file: fileOf(text), name: 'a', form: 'svg' }).output, /^<svg /);
  const { exitCode, output, complaints } = drawWorkflow({ file: fileOf(text), name: 'b', form: 'mermaid' });
  assert.equal(exitCode, 1);
  assert.match(output, /s0\["x<br\/>t\.u<br\/>may be skipped"\]/);
  assert.match(complaints, /^steps\[0\]\.condition: an action has no end/);
});

test('a name that no workflow has is answered with those that there are', () => {
  assert.deepEqual(drawWorkflow({ file: fileOf(CONFIG), name: 'triag', form: 'svg' }), {
    exitCode: 1,
    output: '',
    complaints: 'no composite tool "triag": there are triage\n',
  });
  assert.match(drawWorkflow({ file: fileOf(''), name: 'x', form: 'svg' }).complaints, /there is none/);
});

test('what authors write is text in a drawing, whatever it looks like', () => {
  const id = '"]; <script>alert(1)</script>\n&';
  const text = JSON.stringify({ compositeTools: [{ name: 'w', steps: [{ id, tool: 'a.b' }] }] });
  const svg = drawWorkflow({ file: fileOf(text), name: 'w', form: 'svg' }).output;
  assert.doesNotMatch(svg, /<script/);
  assert.match(drawWorkflow({ file: fileOf(text), name: 'w', form: 'mermaid' }).output, /s0\["#34;#93;#59; #60;script/);
});

test('a file that is no YAML is not drawn: each fault of it is named with its place', () => {
  const text = 'compositeTools:\n  - name: w\n    steps: [{ id: a, tool: a.b, id: c }]\n---\nx: "y\n';
  assert.throws(
    () => drawWorkflow({ file: fileOf(text), name: 'w', form: 'svg' }),
    (error) => {
      assert.ok(error instanceof InvalidConfigError);
      const [repeated = '', open = ''] = error.problems;
      assert.match(repeated, /^w\.yaml:3:33: not valid YAML: Map keys must be unique/);
      assert.match(open, /^w\.yaml:6:1: not valid YAML: Missing closing "quote/);
      return true;
    },
  );
});

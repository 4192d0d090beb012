import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Answer, asked } from '../../../runtime/workflow-client/prompts.ts';

/** What the user types, line by line, and what the terminal showed meanwhile. */
const answered = async (
  requestedSchema: Readonly<Record<string, unknown>>,
  ...lines: readonly string[]
): Promise<{ readonly answer: Answer | undefined; readonly shown: readonly string[] }> => {
  const shown: string[] = [];
  const typed = lines.values();
  const terminal = {
    show: (line: string) => void shown.push(line),
    ask: async (prompt: string) => {
      shown.push(prompt);
      return typed.next().value;
    },
  };
  const question = { message: 'Really?', requestedSchema };
  return { answer: await asked({ step: 's', question }, terminal), shown };
};

const of = (properties: object, ...required: readonly string[]) => ({ type: 'object', properties, required });

describe('a question at the terminal', () => {
  test('can be accepted, declined and cancelled, by as much of the word as one likes', async () => {
    const actions = await Promise.all(['', 'a', 'decline', 'c'].map((word) => answered(of({}), word)));
    assert.deepEqual(
      actions.map(({ answer }) => answer),
      [
        { action: 'accept', content: {} },
        { action: 'accept', content: {} },
        { action: 'decline' },
        { action: 'cancel' },
      ],
    );
    assert.deepEqual((await answered(of({}), 'no', 'd')).answer, { action: 'decline' });
  });

  test('asks for each field, by its type, and again for what is not of it', async () => {
    const schema = of(
      {
        text: { type: 'string', title: 'Words' },
        whole: { type: 'integer' },
        half: { type: 'number' },
        yes: { type: 'boolean' },
        list: { type: 'array' },
        word: { enum: ['one', 'two'] },
        titled: { oneOf: [{ const: 'x', title: 'X' }] },
      },
      'text',
    );
    const lines = [
      'a',
      '',
      'some words',
      '1.5',
      '7',
      'x',
      '1.5',
      'yes',
      'true',
      '{}',
      '["a"]',
      'three',
      'two',
      'X',
      'x',
    ];
    const { answer, shown } = await answered(schema, ...lines);
    assert.deepEqual(answer, {
      action: 'accept',
      content: { text: 'some words', whole: 7, half: 1.5, yes: true, list: ['a'], word: 'two', titled: 'x' },
    });
    assert.ok(shown.includes('  text (a text, required, Words): '));
    assert.ok(shown.includes('  word (one of one, two): '));
    assert.deepEqual(
      shown.filter((line) => line.endsWith('is wanted')).map((line) => line.trim()),
      ['a text', 'a whole number', 'a number', 'true or false', 'a JSON list', 'one of one, two', 'one of x'].map(
        (what) => `${what} is wanted`,
      ),
    );
  });

  test('takes an empty line for the default, or for nothing where nothing is required', async () => {
    const { answer, shown } = await answered(
      of({ a: { type: 'integer', default: 3 }, b: { type: 'string' } }, 'a'),
      '',
      '',
      '',
    );
    assert.deepEqual(answer, { action: 'accept', content: { a: 3 } });
    assert.ok(shown.includes('  a (a whole number, required) [3]: '));
  });

  test('has no answer once nobody types any more', async () => {
    assert.equal((await answered(of({}))).answer, undefined);
    assert.equal((await answered(of({ a: { type: 'string' } }, 'a'), '', '')).answer, undefined);
  });
});

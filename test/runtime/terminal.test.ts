import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { openTerminal } from '../../runtime/terminal.ts';

const opened = () => {
  const [input, output, ended] = [new PassThrough(), new PassThrough(), new AbortController()];
  return { input, output, ended, terminal: openTerminal({ input, output }, ended.signal) };
};

describe('a terminal', () => {
  test('answers with lines as they are typed, also before they are asked for', async () => {
    const { input, output, terminal } = opened();
    input.write('one\ntwo\n');
    assert.equal(await terminal.ask('first? '), 'one');
    assert.equal(await terminal.ask('second? '), 'two');
    terminal.show('done');
    assert.match(String(output.read()), /first\? .*second\? .*done\n$/s);
    terminal.close();
  });

  test('answers nothing any more when it is closed', async () => {
    const { terminal } = opened();
    const answer = terminal.ask('? ');
    terminal.close();
    assert.equal(await answer, undefined);
  });

  test('a signal at a question ends it, and one before it, too', async () => {
    const { terminal, ended } = opened();
    const answer = terminal.ask('? ');
    ended.abort();
    assert.equal(await answer, undefined);
    assert.equal(await terminal.ask('? '), undefined);
    const early = opened();
    early.ended.abort();
    assert.equal(await early.terminal.ask('? '), undefined);
  });
});

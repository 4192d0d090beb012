import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { newKey, secretOf } from '../../operator/engine/key-secret.ts';
import { operatorTokenCheck } from '../../runtime/edge/operator-token.ts';

const program = new URL('../../operator/main.ts', import.meta.url).pathname;

const signedBy = async (stdin: string, ...args: readonly string[]) => {
  const child = spawn(process.execPath, [program, 'management-token', ...args]);
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as unknown, stdout, stderr };
};

const MINUTE = 60_000;

test('signs a token that opens the one server that has this uid, with the key that its pods know', async () => {
  const [known, fresh] = [await newKey(Date.now() - 10 * MINUTE), await newKey(Date.now())];
  const secret = JSON.stringify(secretOf('vmcp-system', [fresh, known]));
  const { code, stdout } = await signedBy(secret, 'uid-1');
  assert.equal(code, 0);
  const opens = (audience: string, { jwk }: typeof known) =>
    operatorTokenCheck({ audience, operatorKeys: [jwk] }, { now: Date.now })(`Bearer ${stdout.trim()}`);
  const { d: _, ...jwk } = known.jwk;
  assert.equal(await opens('uid-1', { ...known, jwk }), true);
  assert.equal(await opens('uid-2', { ...known, jwk }), false);
});

test('says what is missing, and nothing of what it has read', async () => {
  assert.equal((await signedBy('')).code, 2);
  for (const secret of ['s3cr3t', '{"data":{"keys.json":"s3cr3t"}}']) {
    const { code, stderr } = await signedBy(secret, 'uid-1');
    assert.equal(code, 1);
    assert.match(stderr, /Secret/);
    assert.doesNotMatch(stderr, /s3cr3t/);
  }
});

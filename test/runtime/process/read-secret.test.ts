import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secretReader, type SecretSource } from '../../../runtime/process/read-secret.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** A reader over these files; an error is thrown, and a file that is not named is missing. */
const readerOver = (
  files: Readonly<Record<string, string | Error>>,
  environment: Readonly<Record<string, string>> = {},
) =>
  secretReader({
    readFile: async (path) => {
      const content = files[path] ?? failure('ENOENT');
      if (content instanceof Error) throw content;
      return content;
    },
    environment: (name) => environment[name],
  });

const CASES: readonly {
  readonly fact: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly source: SecretSource;
  readonly secret: string | undefined;
}[] = [
  { fact: 'is what the file holds', files: { '/f': 's3cret' }, source: { file: '/f' }, secret: 's3cret' },
  { fact: 'has no newline at its end', files: { '/f': 's3cret\n' }, source: { file: '/f' }, secret: 's3cret' },
  {
    fact: 'loses a line end of Windows as well',
    files: { '/f': 's3cret\r\n' },
    source: { file: '/f' },
    secret: 's3cret',
  },
  {
    fact: 'keeps all but the last newline, and every space',
    files: { '/f': ' two\nlines \n\n' },
    source: { file: '/f' },
    secret: ' two\nlines \n',
  },
  {
    fact: 'is the value of the variable',
    environment: { V: 's3cret\n' },
    source: { environment: 'V' },
    secret: 's3cret\n',
  },
  {
    fact: 'is in the file rather than in the variable',
    files: { '/f': 'new' },
    environment: { V: 'old' },
    source: { file: '/f', environment: 'V' },
    secret: 'new',
  },
  {
    fact: 'is in the variable while the file is missing',
    environment: { V: 'old' },
    source: { file: '/f', environment: 'V' },
    secret: 'old',
  },
  {
    fact: 'is in the variable while the file is empty',
    files: { '/f': '\n' },
    environment: { V: 'old' },
    source: { file: '/f', environment: 'V' },
    secret: 'old',
  },
  { fact: 'is none when the file is missing', source: { file: '/f' }, secret: undefined },
  { fact: 'is none when the file is empty', files: { '/f': '' }, source: { file: '/f' }, secret: undefined },
  { fact: 'is none when the variable is not set', source: { environment: 'V' }, secret: undefined },
  {
    fact: 'is none when the variable is empty',
    environment: { V: '' },
    source: { environment: 'V' },
    secret: undefined,
  },
  { fact: 'is none without a source', source: {}, secret: undefined },
];

describe('a secret', () => {
  for (const { fact, files = {}, environment, source, secret } of CASES) {
    test(fact, async () => assert.equal(await readerOver(files, environment)(source), secret));
  }

  test('is read anew at every use', async () => {
    const files: Record<string, string> = { '/f': 'first' };
    const read = readerOver(files);
    assert.equal(await read({ file: '/f' }), 'first');
    files['/f'] = 'second';
    assert.equal(await read({ file: '/f' }), 'second');
  });

  test('that is there and cannot be read is no reason to take the one of the environment', async () => {
    const read = readerOver({ '/f': failure('EACCES') }, { V: 'old' });
    await assert.rejects(read({ file: '/f', environment: 'V' }), { code: 'EACCES' });
  });
});

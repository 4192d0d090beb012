import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Without the backticks, so that a heading is cited as it is read. */
const headingsOf = (page: string): ReadonlySet<string> =>
  new Set([...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.replaceAll('`', '')));

interface Comment {
  readonly at: string;
  readonly text: string;
}

/**
 * Those of one file: a block is one comment, and so are `//` lines that follow each other. Strings hold nothing that
 * looks like one.
 */
const commentsOf = (file: string): readonly Comment[] =>
  [...read(file).matchAll(/\/\*[\s\S]*?\*\/|(?:(?:^|\s)\/\/ .*(?:\n|$))+/gm)].map(([comment]) => ({
    at: file,
    text: comment.replaceAll(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' '),
  }));

const comments = (places: string): readonly Comment[] =>
  globSync(`{${places}}/**/*.ts`, { cwd: root, exclude: ['**/node_modules'] })
    .filter((file) => join(root, file) !== import.meta.filename)
    .sort()
    .flatMap(commentsOf);

const sources = comments('runtime,operator,crds');
const everything = [...sources, ...comments('test,bench')];

/** `docs/page.md`, and the headings that are named right behind it: `docs/page.md "One", "Another"`. */
const citations = everything.flatMap(({ at, text }) =>
  [...text.matchAll(/\bdocs\/([\w-]+\.md)((?:,? "[^"]+")*)/g)].map(([, page = '', headings = '']) => ({
    at,
    page: `docs/${page}`,
    headings: [...headings.matchAll(/"([^"]+)"/g)].map(([, heading = '']) => heading),
  })),
);

describe('what comments cite can be opened', () => {
  test('there is something to check', () => assert.ok(citations.length > 100));

  test('every page exists', () => {
    const lost = citations.filter(({ page }) => !existsSync(join(root, page)));
    assert.deepEqual(
      lost.map(({ at, page }) => `${at}: ${page}`),
      [],
    );
  });

  test('every heading exists', () => {
    const pages = new Map(globSync('docs/*.md', { cwd: root }).map((page) => [page, headingsOf(page)]));
    const lost = citations.flatMap(({ at, page, headings }) =>
      headings.filter((heading) => !pages.get(page)?.has(heading)).map((heading) => `${at}: ${page} "${heading}"`),
    );
    assert.deepEqual(lost, []);
  });

  test('docs/decisions.md is never cited as a whole', () => {
    const vague = citations.filter(({ page, headings }) => page === 'docs/decisions.md' && headings.length === 0);
    assert.deepEqual(
      vague.map(({ at }) => at),
      [],
    );
  });

  test('nothing cites a document that the repository does not have', () => {
    const foreign = [
      /(?:^\W*|[.;] |\()(?:spec|decisions(?:\.md)?)(?::| "|, |\))/i,
      /(?<!docs\/)\b(?:decisions(?:\.md)?,? "|architecture (?:rule|"))/i,
    ];
    assert.deepEqual(
      everything
        .filter(({ text }) => foreign.some((each) => each.test(text)))
        .map(({ at, text }) => `${at}: ${text.trim()}`),
      [],
    );
  });
});

/** Patterns look like links. */
const withoutCode = (text: string): string => text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');

/** Text of a link's target as GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

describe('what pages link to can be opened', () => {
  for (const page of globSync('{*.md,docs/*.md,bench/*.md}', { cwd: root }).sort()) {
    test(page, () => {
      const links = [...withoutCode(read(page)).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
      const broken = links.filter(([, path = '', anchor]) => {
        const target = path === '' ? page : join(page, '..', path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && ![...headingsOf(target)].map(anchorOf).includes(anchor);
      });
      assert.deepEqual(
        broken.map(([link]) => link),
        [],
      );
    });
  }
});

describe('where pages send a reader exists', () => {
  const ours = new Set(
    globSync('{runtime,operator,crds,test,bench}/**/*.ts', { cwd: root, exclude: ['**/node_modules'] }).map(
      (file) => file.split('/').at(-1) ?? '',
    ),
  );
  const exists = (place: string): boolean =>
    place.includes('/') ? globSync(place, { cwd: root }).length > 0 : ours.has(place);
  // Whole paths, and names of files alone; what has a `<…>` stands for many.
  const PLACE = /`((?:(?:runtime|operator|crds|test|charts|docs|bench|examples)\/)[^`\s<]*|[\w-]+\.ts)`/g;

  for (const page of globSync('{*.md,docs/*.md}', { cwd: root }).sort()) {
    test(page, () => {
      const places = [...read(page).matchAll(PLACE)].map(([, place = '']) => place);
      assert.deepEqual(
        places.filter((place) => !exists(place)),
        [],
      );
    });
  }
});

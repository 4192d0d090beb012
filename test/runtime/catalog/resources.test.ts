import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as check, constantFrom, oneof, property, string } from 'fast-check';
import { buildCatalog } from '../../../runtime/catalog/catalog.ts';
import { uriTemplate } from '../../../runtime/catalog/uri-template.ts';
import { atBackend, settings, source } from './sources.ts';

const owner = (catalog: ReturnType<typeof buildCatalog>, uri: string) => {
  const target = atBackend(catalog.offered.find('resource', uri));
  if (target) assert.equal(JSON.parse(target.ownName.toString()), uri, 'never renamed');
  return target?.backend;
};

describe('a URI leads', () => {
  const catalog = buildCatalog(
    [
      source('a', {
        resources: ['file:///x', 'db://users/1'],
        resourceTemplates: ['db://{table}/{id}', 'all:{+path}'],
      }),
      source('b', { resourceTemplates: ['db://users/{id}', 'db://{table}/{key}', 'search:{?q,page}'] }),
    ],
    settings(),
  );

  for (const [fact, uri, expected] of [
    ['to the backend that lists it', 'file:///x', 'a'],
    ['to the one that lists it although a template says more about it', 'db://users/1', 'a'],
    ['to the template that says most', 'db://users/2', 'b'],
    ['of equal templates to the earlier backend’s', 'db://orders/2', 'a'],
    ['a template itself to who lists it', 'search:{?q,page}', 'b'],
    ['through a template with a query', 'search:?q=x&page=2', 'b'],
    ['through a template that takes slashes', 'all:x/y/z', 'a'],
    ['nowhere when several backends have resources and none this one', 'file:///y', undefined],
    ['nowhere when it is longer than any real one', `all:${'x'.repeat(9_000)}`, undefined],
  ] as const) {
    test(fact, () => assert.equal(owner(catalog, uri), expected));
  }

  test('to the only backend that is up and has resources at all', () => {
    const [up, down] = [source('a', { resources: ['x:1'] }), source('b', { resources: ['x:2'] }, false)];
    assert.equal(owner(buildCatalog([up, down, source('c', { tools: ['t'] })], settings()), 'x:3'), 'a');
    assert.equal(
      owner(buildCatalog([up, source('b', { resourceTemplates: ['y:{z}'] })], settings()), 'x:3'),
      undefined,
    );
    assert.equal(owner(buildCatalog([source('c', { tools: ['t'] })], settings()), 'x:3'), undefined);
  });
});

describe('a URI template', () => {
  // RFC 6570 §3.2, with var = value, hello = Hello World!, path = /foo/bar, x = 1024, y = 768, empty = "".
  for (const [template, matching, others] of [
    ['x:{var}', ['x:value', 'x:a%20b', 'x:a?b'], ['x:', 'x:a/b', 'y:value', 'xx:value']],
    ['{x,y}', ['1024,768'], ['1024/768']],
    ['x:{x,hello,y}', ['x:1024,Hello%20World%21,768'], []],
    ['x:{+path}/here', ['x:/foo/bar/here'], ['x:/foo/bar', 'x:/here/there']],
    ['x:here?ref={+path}', ['x:here?ref=/foo/bar'], ['x:here?ref=']],
    ['X{#var}', ['X#value', 'X', 'X#a/b'], ['Xvalue']],
    ['X{.x,y}', ['X.1024.768', 'X'], ['X.a/b', 'X1']],
    ['x:{/var,x}/here', ['x:/value/1024/here', 'x:/here'], ['x:value/here', 'x:/a?b/here']],
    ['x:p{;x,y,empty}', ['x:p;x=1024;y=768;empty', 'x:p'], ['x:p/a', 'x:px']],
    ['x:p{?x,y}', ['x:p?x=1024&y=768', 'x:p'], ['x:p?x=1#a', 'x:px']],
    ['x:p?fixed=yes{&x}', ['x:p?fixed=yes&x=1024', 'x:p?fixed=yes'], ['x:p?fixed=yesx']],
    ['{+a}/{b}', ['x/y/z'], ['x', 'x/']],
    ['test://template/{id}/data', ['test://template/7/data'], ['test://template//data', 'test://template/7/8/data']],
  ] as const) {
    test(`${template} matches what it makes`, () => {
      const pattern = uriTemplate(template);
      for (const uri of matching) assert.equal(pattern?.matches(uri), true, uri);
      for (const uri of others) assert.equal(pattern?.matches(uri), false, uri);
    });
  }

  for (const text of [
    'x:1',
    'x:{',
    'x:}',
    'x:{a}}',
    'x:{}',
    'x:{a b}',
    'x:{=a}',
    'x:{a*}',
    'x:{a:3}',
    '{a}'.repeat(17),
    `{a}${'x'.repeat(3_000)}`,
  ])
    test(`${text.slice(0, 20)} matches only itself`, () => assert.equal(uriTemplate(text), undefined));

  test('matches every URI that it makes of any values', () => {
    const part = oneof(
      constantFrom('x:', '/', '/data/', '?q=').map((text) => ({ template: text, made: text })),
      string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((value) => ({
        template: '{a}',
        made: encodeURIComponent(value),
      })),
      string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((value) => ({
        template: '{+a}',
        made: encodeURI(value),
      })),
      array(string({ unit: 'grapheme', maxLength: 4 }), { minLength: 1, maxLength: 3 }).map((values) => ({
        template: '{/a,b,c}',
        made: values.map((value) => `/${encodeURIComponent(value)}`).join(''),
      })),
      array(string({ unit: 'grapheme', maxLength: 4 }), { maxLength: 3 }).map((values) => ({
        template: '{?a,b,c}',
        made: values.map((value, index) => `${index === 0 ? '?' : '&'}a=${encodeURIComponent(value)}`).join(''),
      })),
    );
    check(
      property(array(part, { maxLength: 8 }), (parts) => {
        const pattern = uriTemplate(`{z}${parts.map(({ template }) => template).join('')}`);
        const uri = `z${parts.map(({ made }) => made).join('')}`;
        assert.equal(pattern?.matches(uri), true, uri);
      }),
    );
  });

  test('that invites backtracking costs no more than its length times the URI’s', () => {
    const template = '{a}b{+c}b{d}b{+e}b{f}b{+g}b{h}b{+i}!';
    const pattern = uriTemplate(template);
    const uri = 'b'.repeat(8_000);
    const before = process.cpuUsage();
    assert.equal(pattern?.matches(uri), false);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 1_000_000, `took ${user} µs`);
    assert.ok(pattern.cost(uri.length) <= (template.length + 17) * uri.length);
  });

  test('of which a backend lists thousands that all begin alike, a long URI is looked up in bounded time', () => {
    const resourceTemplates = Array.from({ length: 5_000 }, (_, index) => `x:{a}b{+c}b{d}b${index}!`);
    const catalog = buildCatalog([source('a', { resourceTemplates }), source('b', { resources: ['y:1'] })], settings());
    const before = process.cpuUsage();
    assert.equal(owner(catalog, `x:${'b'.repeat(8_000)}`), undefined);
    const { user } = process.cpuUsage(before);
    assert.ok(user < 2_000_000, `took ${user} µs`);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Page } from 'playwright-core';
import type { Answer } from '../../../../runtime/auth-server/answer.ts';
import { departurePage } from '../../../../runtime/auth-server/pages/departure-page.ts';
import { type Chromium, noChromium, startChromium } from '../../../fixtures/chromium.ts';
import { type PageServer, redirectTo, servePages } from '../../../fixtures/pages.ts';
import { pagesWith, TOKEN } from './page-samples.ts';

describe('in Chromium', { skip: noChromium }, () => {
  let chromium: Chromium;
  let server: PageServer;
  /** What is served, by path. */
  let served: Readonly<Record<string, Answer>> = {};
  const serve = (pages: Readonly<Record<string, Answer>>): readonly string[] => {
    const names = Object.keys(pages);
    const sent = pagesWith('sent').done as Answer;
    served = {
      ...Object.fromEntries(names.map((name, at) => [`/${at}`, pages[name] as Answer])),
      '/oauth/consent': sent,
      '/oauth/accounts': sent,
      '/oauth/sign-in': sent,
    };
    return names;
  };

  before(async () => {
    chromium = await startChromium();
    server = await servePages(({ path }) => served[path]);
  });
  after(async () => {
    await chromium.stop();
    await server.close();
  });

  test('no text of a stranger becomes part of a page, and no page breaks its own policy', async () => {
    const { page, complaints } = await chromium.open();
    const names = serve(pagesWith('Text'));
    const usual: string[] = [];
    for (const at of names.keys()) {
      await page.goto(`${server.origin}/${at}`);
      usual.push(await shapeOf(page));
    }
    const piece = fc.constantFrom(
      '"',
      "'",
      '`',
      '<',
      '>',
      '&',
      '=',
      '/',
      ' ',
      '-->',
      '</title>',
      '</style>',
      '</bdi>',
      '</main>',
      '<!--',
      '<script>document.title="x"</script>',
      '<img src=x onerror=alert(1)>',
      '" autofocus onfocus=alert(1) x="',
      '<svg/onload=alert(1)>',
      'javascript:alert(1)',
      '<base href=//x>',
      '<meta http-equiv=refresh content=0>',
      '<style>*{display:none}</style>',
      '\u202E',
      '&lt;script&gt;',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), fc.nat(names.length - 1), async (pieces, at) => {
        serve(pagesWith(`a${pieces.join('')}`));
        await page.goto(`${server.origin}/${at}`);
        assert.equal(await shapeOf(page), usual[at], names[at]);
      }),
      { numRuns: 60 },
    );
    // The pages of errors answer with a status of an error, and their icon is not there.
    const own = complaints.filter((text) => !text.startsWith('Failed to load resource'));
    assert.deepEqual(own, []);
  });

  test('a page asks for nothing but itself', async () => {
    const { page } = await chromium.open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const names = serve(pagesWith('Text')).filter((name) => name !== 'departure');
    for (const at of names.keys()) await page.goto(`${server.origin}/${at}`);
    assert.deepEqual(
      asked.filter((path) => path !== '/favicon.ico'),
      names.map((_, at) => `/${at}`),
    );
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`everybody can read and use every page (${colorScheme})`, async () => {
      const { page } = await chromium.open({ colorScheme, viewport: { width: 320, height: 800 } });
      const names = serve(
        pagesWith('An-application-with-a-name-that-has-no-place-to-break-a-line-whatever-is-tried-here'),
      );
      for (const [at, name] of names.entries()) {
        if (name === 'departure') continue;
        await page.goto(`${server.origin}/${at}`);
        assert.deepEqual(await page.evaluate(faultsOfPage), [], name);
      }
    });
  }

  test('a page works without JavaScript', async () => {
    const { page } = await chromium.open({ javaScriptEnabled: false });
    const names = serve(pagesWith('Text'));
    await page.goto(`${server.origin}/${names.indexOf('consent of a local program')}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL('**/oauth/consent');
    assert.equal(server.requests.at(-1)?.form.get('decision'), 'deny');
  });

  test('a client is approved with the keyboard alone, and not by accident', async () => {
    const { page } = await chromium.open();
    const names = serve(pagesWith('Text'));
    await page.goto(`${server.origin}/${names.indexOf('consent of a local program')}`);
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim()');
    const before = server.requests.length;
    await page.keyboard.press('Enter');
    assert.equal(server.requests.length, before);
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Allow');
    assert.notEqual(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Cancel');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/oauth/consent');
    const { method, headers, form } = server.requests.at(-1) ?? assert.fail();
    assert.equal(method, 'POST');
    assert.deepEqual(Object.fromEntries(form), { csrf: TOKEN, decision: 'approve' });
    // Where the header were null, the edge would refuse the form.
    assert.equal(headers.origin, server.origin);
  });

  test('a page is shown in no frame', async () => {
    const { page, complaints } = await chromium.open();
    const names = serve(pagesWith('Text'));
    const frame = `<iframe src="${server.origin}/${names.indexOf('sign in')}"></iframe>`;
    const framing = await servePages(() => ({ status: 200, headers: { 'content-type': 'text/html' }, body: frame }));
    await page.goto(framing.origin);
    assert.match(complaints.join(), /frame-ancestors|X-Frame-Options/i);
    assert.equal(await page.frames()[1]?.getByRole('button').count(), 0);
    await framing.close();
  });

  for (const how of ['at once', 'by way of a redirect of ours'] as const) {
    describe(`after the consent form, ${how}, the browser gets to`, () => {
      /** Approves on a server whose form is answered by a departure to the client, or to a step that redirects there. */
      const approved = async (redirectUri: string) => {
        const consent = pagesWith('Text')['consent of a site that registered'] as Answer;
        const to = how === 'at once' ? redirectUri : '/oauth/authorize/next';
        const authorization = await servePages(({ method, path }) => {
          if (path === '/oauth/consent' && method === 'POST') return departurePage({ to, name: 'Agent' });
          if (path === '/oauth/authorize/next') return redirectTo(redirectUri);
          return path === '/' ? consent : undefined;
        });
        const { page, complaints } = await chromium.open();
        const asked: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        await page.goto(authorization.origin);
        const isAsked = page.waitForEvent('request', (request) => request.url() === redirectUri);
        await page.getByRole('button', { name: 'Allow' }).click();
        await isAsked;
        return { page, complaints, asked, close: authorization.close };
      };

      const html = (title: string): Answer => ({
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: `<title>${title}</title>`,
      });

      test('a program on loopback, whatever the port', async () => {
        const program = await servePages(() => html('signed in'));
        const { page, close } = await approved(`${program.origin}/callback?code=1`);
        await page.waitForURL(`${program.origin}/callback?code=1`);
        assert.equal(await page.title(), 'signed in');
        assert.equal(program.requests[0]?.headers.referer, undefined);
        await Promise.all([program.close(), close()]);
      });

      test('the site that a program on loopback sends it on to', async () => {
        const site = await servePages(() => html('the site'));
        const program = await servePages(() => redirectTo(`${site.origin}/success`));
        const { page, close } = await approved(`${program.origin}/callback?code=1`);
        await page.waitForURL(`${site.origin}/success`);
        assert.equal(await page.title(), 'the site');
        await Promise.all([program.close(), site.close(), close()]);
      });

      test('the scheme of a program', async () => {
        const { page, complaints, asked, close } = await approved(
          'cursor://anysphere.cursor-mcp/oauth/callback?code=1',
        );
        assert.equal(asked.at(-1), 'cursor://anysphere.cursor-mcp/oauth/callback?code=1');
        assert.deepEqual(
          complaints.filter((text) => /Content Security Policy/.test(text)),
          [],
        );
        // The page stays, and says what to do.
        assert.match(await page.locator('main').innerText(), /If a program has opened, you can close this window\./);
        await close();
      });
    });
  }
});

/** Names of all elements and their attributes, in order. */
const shapeOf = (page: Page): Promise<string> =>
  page.evaluate(
    `[...document.querySelectorAll('*')].map((e) => [e.localName, ...e.getAttributeNames()].join(' ')).join('|')`,
  );

/** What keeps somebody from reading or using the page (WCAG 2.2, level AA), as far as a program can tell. Runs in the page. */
const faultsOfPage = `(() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (document.documentElement.lang !== 'en') faults.push('3.1.1: no language');
  if (document.title.trim() === '') faults.push('2.4.2: no title');
  if (all('main').length !== 1) faults.push('1.3.1: no main');
  const levels = all('h1,h2,h3,h4').map((heading) => Number(heading.localName[1]));
  if (levels[0] !== 1 || levels.filter((level) => level === 1).length !== 1) faults.push('1.3.1: not one h1 at first');
  if (levels.some((level, at) => at > 0 && level > levels[at - 1] + 1)) faults.push('1.3.1: a level is left out');
  for (const heading of all('h1,h2')) if (heading.innerText.trim() === '') faults.push('2.4.6: an empty heading');
  for (const button of all('button,a')) {
    if (button.innerText.trim() === '') faults.push('4.1.2: no name: ' + button.outerHTML);
    const { width, height } = button.getBoundingClientRect();
    if (button.localName === 'button' && (width < 44 || height < 44)) faults.push('2.5.5: too small: ' + button.innerText);
  }
  const names = all('button').map((button) => button.innerText);
  if (new Set(names).size !== names.length && all('form').length === 1) faults.push('two buttons of one name');
  for (const input of all('input')) if (input.type !== 'hidden' && input.labels.length === 0) faults.push('1.3.1: no label');
  if (all('[id]').length !== new Set(all('[id]').map(({ id }) => id)).size) faults.push('4.1.1: an id twice');
  if (document.documentElement.scrollWidth > innerWidth) faults.push('1.4.10: wider than the window: ' + document.documentElement.scrollWidth);
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (!/, 0\\)$/.test(backgroundColor)) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  for (const element of all('main *')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')) continue;
    const found = ratio(getComputedStyle(element).color, behind(element));
    if (found < 4.5) faults.push('1.4.3: contrast ' + found.toFixed(2) + ': ' + element.outerHTML);
    if (parseFloat(getComputedStyle(element).fontSize) < 13) faults.push('small text: ' + element.outerHTML);
  }
  for (const button of all('button')) {
    const found = ratio(getComputedStyle(button).borderTopColor, behind(button.parentElement));
    if (found < 3) faults.push('1.4.11: border ' + found.toFixed(2));
    button.focus();
    const { outlineColor } = getComputedStyle(button);
    if (ratio(outlineColor, behind(button.parentElement)) < 3) faults.push('2.4.13: focus cannot be seen');
  }
  return faults;
})()`;

import assert from 'node:assert/strict';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../../runtime/start.ts';
import { scratchFolder } from '../../../cluster/scratch.ts';
import { until } from '../../../cluster/until.ts';
import { type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { covers } from '../../../requirements.ts';

describe('a backend with a certificate of a private authority', { skip: noCertificates }, () => {
  let certificates: TestCertificates;
  let others: TestCertificates;
  let folder: Awaited<ReturnType<typeof scratchFolder>>;
  let bundle: string;
  let backend: FixtureBackend;
  let plain: FixtureBackend;
  let running: Running | undefined;

  before(async () => {
    [certificates, others] = await Promise.all([testCertificates(), testCertificates()]);
  });
  after(async () => {
    await Promise.all([certificates.remove(), others.remove()]);
  });
  beforeEach(async () => {
    folder = await scratchFolder('bundle');
    bundle = join(folder.path, 'ca.crt');
    const [key, cert] = await Promise.all(
      [certificates.keyFile, certificates.certificateFile].map((file) => readFile(file, 'utf8')),
    );
    backend = await startBackend({ tools: ['echo'], tls: { key: key ?? '', cert: cert ?? '' } });
    plain = await startBackend({ tools: ['echo'] });
  });
  afterEach(async () => {
    await running?.stop();
    await Promise.all([backend.close(), plain.close(), folder.remove()]);
  });

  const serve = async (caBundlePath?: string): Promise<Running> => {
    const transport = 'streamable-http';
    const backends = [
      { name: 'plain', url: plain.url, transport },
      { name: 'pinned', url: backend.url, transport, type: 'entry', ...(caBundlePath && { caBundlePath }) },
    ];
    running = await startRuntime(configFile({}, { backends, operational: BEST_EFFORT }));
    return running;
  };

  /** What a client sees of it, and of the one beside it. */
  const seen = async ({ url, status }: Running) => {
    const session = await openSession(url);
    const names = await session.toolNames();
    await session.end();
    const { message } = status().backends.find(({ name }) => name === 'pinned') ?? {};
    return { names, message };
  };

  covers('aggregation.static.ca-bundle-used');
  test('is served when its bundle holds the authority, and is not without it', async () => {
    assert.deepEqual(await seen(await serve(certificates.caFile)), {
      names: ['pinned_echo', 'plain_echo'],
      message: undefined,
    });
    await running?.stop();
    assert.deepEqual(await seen(await serve()), {
      names: ['plain_echo'],
      message: 'backend "pinned" has a certificate that is not trusted',
    });
  });

  test('is not served when its bundle holds another authority', async () => {
    assert.deepEqual(await seen(await serve(others.caFile)), {
      names: ['plain_echo'],
      message: 'backend "pinned" has a certificate that is not trusted',
    });
  });

  const useless: readonly (readonly [what: string, text: string | undefined, message: RegExp])[] = [
    ['is not there', undefined, /caBundlePath names a file that cannot be read: mount it$/],
    ['is empty', '', /caBundlePath names a file without certificates: write them there as PEM$/],
    ['is garbage', 'garbage', /caBundlePath names a file without certificates: write them there as PEM$/],
    [
      'holds a broken certificate',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /caBundlePath names a file whose certificate number 1 cannot be read: mend it$/,
    ],
    [
      'is too large',
      'x'.repeat(1024 * 1024 + 1),
      /caBundlePath names a file of more than 1 MiB: keep certificates only$/,
    ],
  ];
  for (const [what, text, message] of useless) {
    test(`is not contacted while its bundle ${what}; the others are served`, async () => {
      if (text !== undefined) await writeFile(bundle, text);
      const found = await seen(await serve(bundle));
      assert.deepEqual(found.names, ['plain_echo']);
      assert.match(found.message ?? '', message);
      assert.ok(!found.message?.includes(bundle));
      assert.equal(backend.requests.length, 0);
    });
  }

  test('is served once its bundle is there, without a restart, and no longer once that is another one', async () => {
    await serve(bundle);
    assert.ok(running);
    const { status, url } = running;
    const statusIs = (wanted: string) =>
      until(`the backend to be ${wanted}`, async () =>
        status().backends.find(({ name }) => name === 'pinned')?.status === wanted ? true : undefined,
      );
    await statusIs('unavailable');
    await replace(await readFile(certificates.caFile, 'utf8'));
    await statusIs('ready');
    const session = await openSession(url);
    assert.equal((await session.call('pinned_echo')).status, 200);
    await replace(await readFile(others.caFile, 'utf8'));
    // Connections that exist may live on; the next new one is made with the new bundle.
    backend.drop();
    assert.match((await session.call('pinned_echo')).text, /has a certificate that is not trusted/);
    await replace(`${await readFile(others.caFile, 'utf8')}\n# and\n${await readFile(certificates.caFile, 'utf8')}`);
    assert.doesNotMatch((await session.call('pinned_echo')).text, /isError/);
    await session.end();
  });

  /** As the kubelet does it: never half a file. */
  const replace = async (text: string): Promise<void> => {
    await writeFile(`${bundle}.new`, text);
    await rm(bundle, { force: true });
    await rename(`${bundle}.new`, bundle);
  };
});

const BEST_EFFORT = { failureHandling: { partialFailureMode: 'best_effort' } };

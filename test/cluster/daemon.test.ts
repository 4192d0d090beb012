import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { newCrew } from './daemon.ts';
import { acquire, acquireOneOf } from './lock.ts';
import { scratchFolder } from './scratch.ts';
import { until } from './until.ts';

/** A process of its own that runs the script with the modules of this folder, and what it says first. */
async function child(script: string): Promise<{ process: ReturnType<typeof spawn>; said: string }> {
  const prelude = ['daemon', 'lock', 'scratch'].map(
    (name) => `import * as ${name} from ${JSON.stringify(join(import.meta.dirname, `${name}.ts`))};`,
  );
  const args = ['--input-type=module', '--eval', [...prelude, script].join('\n')];
  const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(started.stdout, 'data')) as [Buffer];
  return { process: started, said: said.toString().trim() };
}

async function kill(victim: ReturnType<typeof spawn>): Promise<void> {
  const gone = once(victim, 'exit');
  victim.kill('SIGKILL');
  await gone;
}

/** Dead, or dead and only not yet collected by its new parent. */
const hasEnded = async (pid: string): Promise<true | undefined> => {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status === '' || status.includes(') Z ') ? true : undefined;
};

describe(
  'programs beside the tests',
  { skip: process.platform !== 'linux' && 'the parent-death signal belongs to Linux' },
  () => {
    test('a program dies with the process that started it, even when that one is killed', async () => {
      const parent = await child(`
      const started = await daemon.newCrew().start({ name: 'sleep', program: 'sleep', args: ['1000'], logFile: '/dev/null' });
      console.log(started.pid);
      setInterval(() => undefined, 1000);
    `);
      // Before that it is still setpriv, which asks for the signal.
      await until('the program', async () =>
        (await readFile(`/proc/${parent.said}/comm`, 'utf8')) === 'sleep\n' ? true : undefined,
      );
      assert.equal(await hasEnded(parent.said), undefined);
      await kill(parent.process);
      await until('the end of the program', () => hasEnded(parent.said), { timeoutMs: 5000 });
    });

    test('work that depends on a program fails as soon as the program ends, with its last words', async () => {
      const scratch = await scratchFolder('daemon-test');
      const crew = newCrew();
      await crew.start({
        name: 'failing',
        program: 'sh',
        args: ['-c', 'echo no such option; exit 3'],
        logFile: join(scratch.path, 'log'),
      });
      await assert.rejects(crew.watch(new Promise(() => undefined)), /failing ended with 3\nno such option/);
      await crew.stop();
      await scratch.remove();
    });

    test('a lock is held by one at a time and let go by a holder that is killed', async () => {
      const holder = await child(
        `await lock.acquire('daemon-test'); console.log('held'); setInterval(() => undefined, 1000);`,
      );
      let isHeld = false;
      const waiting = acquire('daemon-test').then((release) => {
        isHeld = true;
        return release;
      });
      const other = await acquire('daemon-test-other');
      await other();
      assert.equal(isHeld, false);
      await kill(holder.process);
      await (
        await waiting
      )();
    });

    test('of several locks a free one is taken, or else the first that becomes free', async () => {
      const names = ['daemon-test-first', 'daemon-test-second'];
      const first = await acquireOneOf(names);
      const second = await acquireOneOf(names);
      assert.deepEqual([first.index, second.index], [0, 1]);
      const third = acquireOneOf(names);
      await second.release();
      assert.equal((await third).index, 1);
      await Promise.all([first.release(), (await third).release()]);
    });

    test('the folder of a killed process is removed by the next one', async () => {
      const owner = await child(
        `console.log((await scratch.scratchFolder('left')).path); setInterval(() => undefined, 1000);`,
      );
      await access(owner.said);
      await kill(owner.process);
      const mine = await scratchFolder('mine');
      await assert.rejects(access(owner.said));
      await mine.remove();
    });
  },
);

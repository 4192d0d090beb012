import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { admission, unlessRefused } from '../../runtime/admission.ts';
import { type AdmissionSteps } from '../../runtime/call/admission.ts';
import type { CallRecord } from '../../runtime/call/around.ts';
import type { Access } from '../../runtime/call/call.ts';
import type { BackendTarget } from '../../runtime/call/target.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { hasCode } from './store/has-code.ts';

const ACCESS: Access = {
  caller: { kind: 'anonymous' },
  method: 'tools/call',
  names: 'tool',
  name: 't',
  origin: 'client',
};
const TARGET: BackendTarget = { kind: 'backend', backend: 'a', ownName: Buffer.from('"t"') };

/** Steps that write down that they were asked, at once or later, and of which one may refuse. */
const make = (how: 'at once' | 'later', refusing?: keyof AdmissionSteps) => {
  const asked: string[] = [];
  const step = <T>(name: keyof AdmissionSteps, value: T): T | Promise<T> => {
    const answer = (): T => {
      asked.push(name);
      if (name === refusing) throw new VmcpError(name === 'limit' ? 'rate_limited' : 'forbidden', 'no');
      return value;
    };
    return how === 'at once' ? answer() : setImmediate().then(answer);
  };
  const steps: AdmissionSteps = {
    lookUp: () => step('lookUp', TARGET),
    authorize: () => step('authorize', undefined),
    limit: () => step('limit', undefined),
  };
  return { ...admission(steps), asked };
};

for (const how of ['at once', 'later'] as const)
  describe(`what is decided ${how}`, () => {
    test('is looked up, then authorized, then counted', async () => {
      const { admit, asked } = make(how);
      assert.equal(await admit(ACCESS), TARGET);
      assert.deepEqual(asked, ['lookUp', 'authorize', 'limit']);
    });

    test('uses up no limit where it is not allowed', async () => {
      const { admit, asked } = make(how, 'authorize');
      await assert.rejects(async () => admit(ACCESS), hasCode('forbidden'));
      assert.deepEqual(asked, ['lookUp', 'authorize']);
    });

    test('is not admitted beyond a limit', async () => {
      const { admit } = make(how, 'limit');
      await assert.rejects(async () => admit(ACCESS), hasCode('rate_limited'));
    });

    test('uses up no limit when it goes on at another replica, and is judged again', async () => {
      const { readmit, asked } = make(how);
      assert.equal(await readmit(ACCESS), TARGET);
      assert.deepEqual(asked, ['lookUp', 'authorize']);
      await assert.rejects(async () => make(how, 'authorize').readmit(ACCESS), hasCode('forbidden'));
    });
  });

test('what is found out on the way is noted, of a refusal as well', async () => {
  const decision = { isAllowed: false, policies: ['policy0'], failed: [], dryRun: [] };
  const record: CallRecord = { target: undefined, decision: undefined };
  const { admit } = admission({
    lookUp: () => TARGET,
    authorize: (_access, _target, noted) => {
      if (noted) noted.decision = decision;
      throw new VmcpError('forbidden', 'no');
    },
    limit: () => {},
  });
  await assert.rejects(async () => admit(ACCESS, record), hasCode('forbidden'));
  assert.deepEqual(record, { target: TARGET, decision });
});

test('what is left out where it is refused is so without a word, and a fault of ours is logged', async () => {
  const logged: unknown[] = [];
  const log = { error: (_fields: unknown, message?: string) => void logged.push(message) };
  const admittedBy = (authorize: AdmissionSteps['authorize']) =>
    unlessRefused(admission({ lookUp: () => TARGET, authorize, limit: () => {} }).admit, log)(ACCESS);
  assert.equal(await admittedBy(() => {}), TARGET);
  assert.equal(await admittedBy(() => Promise.reject(new VmcpError('forbidden', 'no'))), undefined);
  assert.deepEqual(logged, []);
  const broken = (): never => {
    throw new TypeError('the policies cannot be read');
  };
  assert.equal(await admittedBy(broken), undefined);
  assert.deepEqual(logged, ['admission failed']);
});

test('nothing is waited for where no step has to wait', () => {
  assert.equal(make('at once').admit(ACCESS), TARGET);
});

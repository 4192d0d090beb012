import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { duration, durationOr, formatDuration, parseDuration } from '../../../runtime/config/index.ts';
import { covers } from '../../requirements.ts';

/** Nanoseconds per unit, written apart from the parser's own table. */
const NANOSECONDS = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
} as const;

type Unit = keyof typeof NANOSECONDS;

interface Group {
  readonly whole: number;
  readonly decimals: string;
  readonly unit: Unit;
}

const group: fc.Arbitrary<Group> = fc.record({
  whole: fc.nat({ max: 9999 }),
  decimals: fc.option(fc.stringMatching(/^[0-9]{1,6}$/), { nil: '' }),
  unit: fc.constantFrom(...(Object.keys(NANOSECONDS) as Unit[])),
});

const spell = ({ whole, decimals, unit }: Group): string => `${whole}${decimals === '' ? '' : `.${decimals}`}${unit}`;

/** Exact value in millionths of a nanosecond. */
const exact = ({ whole, decimals, unit }: Group): bigint =>
  (BigInt(whole) * 1_000_000n + BigInt(decimals.padEnd(6, '0'))) * NANOSECONDS[unit];

suite('durations', () => {
  covers('crd.duration.single-group', 'crd.duration.multi-group', 'crd.duration.decimal');
  test('groups of a number and a unit add up, decimals included', () => {
    assert.equal(parseDuration('30s'), 30_000);
    assert.equal(parseDuration('1m30s'), 90_000);
    assert.equal(parseDuration('1.5s'), 1500);
    assert.equal(parseDuration('1h0.5m0.25s'), 3_630_250);
  });

  covers(
    'crd.duration.unit-ns',
    'crd.duration.unit-us',
    'crd.duration.unit-micro-sign',
    'crd.duration.unit-ms',
    'crd.duration.unit-s',
    'crd.duration.unit-m',
    'crd.duration.unit-h',
  );
  test('each unit has its length', () => {
    const milliseconds = {
      '500000000ns': 500,
      '500000us': 500,
      '500000µs': 500,
      '500ms': 500,
      '2s': 2000,
      '2m': 120_000,
      '2h': 7_200_000,
    };
    for (const [text, expected] of Object.entries(milliseconds)) assert.equal(parseDuration(text), expected, text);
  });

  test('any series of groups has the sum of its groups', () => {
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 5 }), (groups) => {
        const total = groups.reduce((sum, each) => sum + exact(each), 0n);
        const expected = Number(total) / 1e12;
        const actual = parseDuration(groups.map(spell).join(''));
        assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * 1e-12, `${actual} instead of ${expected}`);
      }),
    );
  });

  test('whatever is formatted is read back as the same number', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000_000 }), (ms) => {
        assert.equal(parseDuration(formatDuration(ms)), ms);
      }),
    );
    assert.deepEqual([7_200_000, 90_000, 1500, 0, 0.25].map(formatDuration), ['2h', '90s', '1500ms', '0h', '0.25ms']);
  });

  for (const text of [
    '30',
    '',
    '1d',
    '-5s',
    '+5s',
    '5 s',
    ' 5s',
    '5s ',
    '5sx',
    '.5s',
    '5.s',
    '1e3s',
    '5S',
    's',
    '1m-5s',
    '５s',
    '5μs',
  ]) {
    test(`${JSON.stringify(text)} is no duration`, () => {
      assert.throws(() => parseDuration(text), RangeError);
      const result = duration().safeParse(text);
      assert.equal(result.success, false);
      assert.match(result.error?.issues[0]?.message ?? '', /^not a duration; write /);
    });
  }

  test('a number is refused where a duration is expected, with a remedy', () => {
    const result = duration().safeParse(30);
    assert.match(result.error?.issues[0]?.message ?? '', /^not a text such as 30s; write /);
  });

  test('a duration beyond the range of the API server is refused', () => {
    assert.throws(() => parseDuration('2562048h'), RangeError);
    assert.equal(parseDuration('2562047h'), 2_562_047 * 3_600_000);
    const result = duration().safeParse('2562048h');
    assert.match(result.error?.issues[0]?.message ?? '', /write a shorter duration/);
    assert.equal(duration().safeParse(`1${'0'.repeat(70)}ns`).success, false);
  });

  test('a bound is inclusive, and zero is refused where time must pass', () => {
    const atLeastOneSecond = duration({ min: '1s' });
    assert.equal(atLeastOneSecond.parse('1s'), 1000);
    assert.match(atLeastOneSecond.safeParse('999ms').error?.issues[0]?.message ?? '', /at least 1s; write 1s or more/);
    assert.equal(duration({ positive: true }).safeParse('0s').success, false);
    assert.equal(duration({ positive: true }).parse('1ns'), 1e-6);
    assert.equal(duration().parse('0s'), 0);
  });

  test('a default holds when nothing is written', () => {
    assert.equal(durationOr('30s').parse(undefined), 30_000);
  });
});

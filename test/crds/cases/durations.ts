import { casesOf } from '../case.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');
const timeout = (value: unknown) => ({ 'config.operational.timeouts': { default: value } });

/** Text → milliseconds it means, and the rule that says so. */
export const durationMeanings = [
  ['crd.duration.single-group', '30s', 30_000],
  ['crd.duration.multi-group', '1m30s', 90_000],
  ['crd.duration.decimal', '1.5s', 1500],
  ['crd.duration.unit-ns', '500000000ns', 500],
  ['crd.duration.unit-us', '500000us', 500],
  ['crd.duration.unit-micro-sign', '500000µs', 500],
  ['crd.duration.unit-ms', '500ms', 500],
  ['crd.duration.unit-s', '2s', 2000],
  ['crd.duration.unit-m', '2m', 120_000],
  ['crd.duration.unit-h', '2h', 7_200_000],
] as const;

const notDurations = [
  ['crd.duration.reject-bare-number', '30'],
  ['crd.duration.reject-empty', ''],
  ['crd.duration.reject-unknown-unit', '1d'],
  ['crd.duration.reject-other-text', '-5s'],
  ['crd.duration.reject-other-text', '5 s'],
  ['crd.duration.reject-other-text', '5sx'],
] as const;

export const durationCases = [
  ...durationMeanings.map(([of, text]) =>
    accepts({ of, set: timeout(text) }, { 'config.operational.timeouts.default': text }),
  ),
  ...notDurations.map(([of, text]) =>
    refuses({ of, set: timeout(text) }, 'spec.config.operational.timeouts.default', 'should match'),
  ),
  refuses(
    { of: 'crd.duration.reject-bare-number', set: timeout(30) },
    'spec.config.operational.timeouts.default',
    'must be of type string',
  ),
  refuses(
    { of: 'crd.duration.all-fields', set: { 'config.operational.timeouts': { perWorkload: { github: '30' } } } },
    'spec.config.operational.timeouts.perWorkload.github',
    'should match',
  ),
];

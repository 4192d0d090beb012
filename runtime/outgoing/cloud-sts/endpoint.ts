/** Names of regions by how they begin, with the DNS suffix of their partition (AWS General Reference, "Regions"). */
const SUFFIXES: readonly (readonly [prefix: string, suffix: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['us-iso-', 'c2s.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/** The regional endpoint of the security token service. */
export const endpointOf = (region: string): string => {
  const [, suffix = 'amazonaws.com'] = SUFFIXES.find(([prefix]) => region.startsWith(prefix)) ?? [];
  return `https://sts.${region}.${suffix}/`;
};

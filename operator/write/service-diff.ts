import type { KubeObject } from '../object.ts';

interface Port {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly nodePort?: number;
}

interface ServiceSpec {
  readonly ports?: readonly Port[];
  readonly selector?: Readonly<Record<string, string>>;
}

/**
 * Has our Service these ports and this selector and no others? Of other fields additions of others are left alone, but
 * one more key in the selector and no pod is found, and one more port is one nobody listens on. True for any other
 * kind.
 */
export const isSameService = (desired: KubeObject, live: KubeObject): boolean =>
  desired.kind !== 'Service' || (hasSamePorts(desired, live) && hasSameSelector(desired, live));

/**
 * What must be patched before an apply can make `live` the Service that is `desired`; undefined where an apply alone
 * does. An apply adds its port beside one that somebody renumbered, which the server refuses for ever as a second one
 * of that name. Node ports that the server gave are kept, and nothing happens when the Service changed meanwhile.
 */
export const repairOf = (desired: KubeObject, live: KubeObject): object | undefined => {
  if (desired.kind !== 'Service' || hasSamePorts(desired, live)) {
    return undefined;
  }
  const { uid, resourceVersion } = live.metadata;
  const held = portsOf(live);
  const ports = portsOf(desired).map((port) => {
    const nodePort = (held.find(isSamePort(port)) ?? held.find(({ name }) => name === port.name))?.nodePort;
    return nodePort === undefined ? port : { ...port, nodePort };
  });
  return { metadata: { uid, resourceVersion }, spec: { ports } };
};

const specOf = (service: KubeObject): ServiceSpec => service['spec'] ?? {};

const portsOf = (service: KubeObject): readonly Port[] => specOf(service).ports ?? [];

/** What the API server tells ports apart by. */
const isSamePort =
  (one: Port) =>
  (other: Port): boolean =>
    one.port === other.port && (one.protocol ?? 'TCP') === (other.protocol ?? 'TCP');

const hasSamePorts = (desired: KubeObject, live: KubeObject): boolean => {
  const [wanted, held] = [portsOf(desired), portsOf(live)];
  return wanted.length === held.length && wanted.every((port) => held.some(isSamePort(port)));
};

/** The selector is atomic: an apply replaces it. */
const hasSameSelector = (desired: KubeObject, live: KubeObject): boolean => {
  const [wanted, held] = [specOf(desired).selector ?? {}, specOf(live).selector ?? {}];
  const keys = new Set([...Object.keys(wanted), ...Object.keys(held)]);
  return [...keys].every((key) => wanted[key] === held[key]);
};

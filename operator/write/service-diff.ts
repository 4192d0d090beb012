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
 * Whether our Service has exactly these ports and this selector. Additions of other managers are left alone elsewhere,
 * but one more key in the selector matches no pod, and no pod listens on one more port. True for any other kind.
 */
export const isSameService = (desired: KubeObject, live: KubeObject): boolean =>
  desired.kind !== 'Service' || (hasSamePorts(desired, live) && hasSameSelector(desired, live));

/**
 * The patch that is needed before an apply can make `live` the Service that is `desired`; undefined where an apply
 * alone suffices. An apply adds its port beside one that another writer has renumbered, which the API server refuses as
 * a second port of that name. Node ports that the API server gave are kept, and the patch is refused when the Service
 * changed meanwhile.
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

/** The key by which the API server merges ports. */
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

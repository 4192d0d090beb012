import { createServer } from 'node:net';
import { MCP_PORT } from '../plan/server/objects/names.ts';

/** Server name → public port on loopback. */
export type Ports = Readonly<Record<string, number>>;

/** docs/decisions.md "Local mode": 4483, 4493 …; the management port is the next one. */
const STEP = 10;

/** What decides which server gets which port. */
export interface PortRequest {
  /** Servers in name order. */
  readonly servers: readonly string[];
  /** What they had before; a server keeps its first port, also while it is away. */
  readonly kept: Ports;
  /** What `local.yaml` says; it wins. */
  readonly wanted: Ports;
}

/**
 * Assigns a port to every server, absent ones included. `isFree` is asked only about pairs that no server had before.
 */
export const assignPorts = async (
  { servers, kept, wanted }: PortRequest,
  isFree: (port: number) => Promise<boolean>,
): Promise<Ports> => {
  const ports: Record<string, number> = { ...kept, ...wanted };
  for (const server of servers) {
    if (Object.hasOwn(ports, server)) continue;
    let candidate = MCP_PORT;
    while (overlaps(ports, candidate) || !(await isFree(candidate)) || !(await isFree(candidate + 1)))
      candidate += STEP;
    ports[server] = candidate;
  }
  return ports;
};

const overlaps = (ports: Ports, candidate: number): boolean =>
  Object.values(ports).some((port) => Math.abs(port - candidate) <= 1);

/** Whether no process listens on this port of loopback now. */
export const isFreeOnLoopback = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });

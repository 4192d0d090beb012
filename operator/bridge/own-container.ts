import { ApiError } from '../api/errors.ts';
import type { Transport } from '../api/transport.ts';
import { errorText } from '../observe/log.ts';
import { attachCall, type ContainerAddress } from './attach.ts';

interface Pod {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly containerID?: string;
      readonly state?: { readonly running?: object };
    }[];
  };
}

/**
 * Names the run of the container's program that there is now; undefined while none runs. Kubernetes gives each run a
 * name of its own.
 */
export const runningContainer = async (
  { namespace, pod, container }: ContainerAddress,
  transport: Transport,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
  const { status } = (await transport.json({ verb: 'get', kind: 'Pod', method: 'GET', path }, signal)) as Pod;
  const found = status?.containerStatuses?.find(({ name }) => name === container);
  return found?.state?.running === undefined ? undefined : found.containerID;
};

const UPGRADE_REQUIRED = 400;

/**
 * Why the API server does not let us attach, which a WebSocket does not tell: its answers to the same request without
 * an upgrade. From 1.35 on a WebSocket takes the right to POST, too.
 */
export const whyNotAttached = async (
  address: ContainerAddress,
  transport: Transport,
  signal: AbortSignal,
): Promise<string | undefined> => {
  for (const asked of [{ verb: 'get', method: 'GET' } as const, { verb: 'create', method: 'POST' } as const]) {
    try {
      await transport.json({ ...asked, ...attachCall(address), kind: 'Pod' }, signal);
    } catch (error) {
      const wouldHaveLetUs = error instanceof ApiError && error.status === UPGRADE_REQUIRED;
      if (!wouldHaveLetUs) return errorText(error);
    }
  }
  return undefined;
};

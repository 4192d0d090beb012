import { until } from '../../cluster/until.ts';
import { type BackendOptions, startBackend } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { type Gateway, stopGateway } from '../../fixtures/gateway.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { type BridgeOptions, type SseBridge, startSseBridge } from '../../fixtures/sse-bridge.ts';

export interface SseGateway extends Gateway {
  readonly bridge: SseBridge;
}

const BEST_EFFORT = { operational: { failureHandling: { partialFailureMode: 'best_effort' } } };

/** A gateway in front of a backend of HTTP+SSE whose sessions the backend knows by other names. */
export const startSseGateway = async (options: BridgeOptions = {}, of: BackendOptions = {}): Promise<SseGateway> => {
  const clock = frozenClock();
  const backend = await startBackend(of);
  const bridge = await startSseBridge(backend.url, options);
  const running = await startRuntime(configFile({ a: bridge.url }, BEST_EFFORT, 'sse'), {}, { clock });
  const session = await openSession(running.url);
  return { backend, bridge, running, session, clock };
};

export const stopSseGateway = async ({ bridge, backend, ...rest }: Omit<SseGateway, 'session'>): Promise<void> => {
  const close = async (): Promise<void> => {
    await bridge.close();
    await backend.close();
  };
  await stopGateway({ ...rest, backend: { close } });
};

export const eventually = (what: string, isSo: () => boolean): Promise<true> =>
  until(what, async () => isSo() || undefined, { timeoutMs: 10_000, intervalMs: 5 });

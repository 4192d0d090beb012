import type { Config } from './config/index.ts';
import type { PublicRoutes } from './edge/index.ts';
import type { Telemetry } from './observe/index.ts';
import type { Clock } from './process/index.ts';

/** Writing all metrics takes milliseconds, and everybody may ask for them here. */
const KEPT_MS = 1_000;

/** `/metrics` on the public listener, where the configuration asks for it. */
export const metricsRoutes = (
  { telemetry }: Config,
  { contentType, text }: Telemetry['exposition'],
  { now }: Pick<Clock, 'now'>,
): readonly PublicRoutes[] => {
  if (!telemetry?.enablePrometheusMetricsPath) return [];
  let written: { readonly at: number; readonly text: string } | undefined;
  const recent = (): string => {
    if (!written || now() - written.at >= KEPT_MS) written = { at: now(), text: text() };
    return written.text;
  };
  return [(routes) => void routes.get('/metrics', (_request, reply) => reply.type(contentType).send(recent()))];
};

import { z } from 'zod';
import { LIST_KINDS } from '../../../../runtime/mcp/index.ts';
import type { StatusReport } from '../../../../runtime/status/index.ts';

/** Free text of a process that is not trusted to be short. */
const text = (longest: number) =>
  z.string().transform((given) => printable(given.length <= longest ? given : `${given.slice(0, longest - 1)}…`));

/**
 * A text that any terminal, log and YAML parser shows as it is: backends name their tools as they like, with controls
 * or marks of direction, and what they say ends up in the status of a resource.
 */
const printable = (given: string): string =>
  given
    .toWellFormed()
    .replaceAll(/[\t\n\r\u0085\u2028\u2029]+/g, ' ')
    .replaceAll(UNPRINTABLE, '\ufffd');

/**
 * C0, DEL and C1; overrides, embeddings and isolates of bidirectional text; the byte order mark and what is no
 * character.
 */
const UNPRINTABLE = /[\p{Cc}\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/gu;

const count = z.int().min(0).max(1_000_000);

const name = z
  .string()
  .max(253)
  .transform((given) => printable(given));

/** A part of the process that is in one of these states. */
const partIn = <const T extends readonly string[]>(states: T) =>
  z.object({ state: z.enum(states), since: z.iso.datetime().max(64), reason: text(1024).exactOptional() });

/**
 * How the operator reads a body of `GET /status`: any program may run as a pod, so the numbers of things have
 * bounds and long texts are cut. Keys that are not known are left out: the process may be newer than who asks.
 */
export const statusReportSchema: z.ZodType<StatusReport> = z.object({
  version: z.string().max(128),
  config: z.object({
    hash: z.string().max(128),
    refused: z
      .array(text(1024))
      .transform((lines) => lines.slice(0, 100))
      .exactOptional(),
  }),
  sessionStore: partIn(['up', 'refusing', 'down']).exactOptional(),
  authServer: partIn(['up', 'keys-unusable', 'store-away']).exactOptional(),
  toolCount: count,
  backends: z
    .array(
      z.object({
        name,
        status: z.enum(['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown']),
        message: text(1024).exactOptional(),
        lastHealthCheck: z.iso.datetime().max(64).exactOptional(),
        consecutiveFailures: count,
        toolCount: count,
        circuitBreakerState: z.enum(['closed', 'open', 'half-open']).exactOptional(),
        circuitLastChanged: z.iso.datetime().max(64).exactOptional(),
      }),
    )
    .max(5000),
  collisions: z
    .array(z.object({ kind: z.enum(LIST_KINDS).exactOptional(), name: text(1024), keptBy: name, lostBy: name }))
    .transform((collisions) => collisions.slice(0, 100)),
  collisionCount: count.exactOptional(),
  unresolved: z
    .array(z.object({ name: text(1024), backends: z.array(name).transform((names) => names.slice(0, 100)) }))
    .transform((unresolved) => unresolved.slice(0, 100))
    .exactOptional(),
  unmatched: z
    .array(z.object({ workload: name, setting: z.enum(['filter', 'overrides']), tool: text(1024) }))
    .transform((unmatched) => unmatched.slice(0, 100))
    .exactOptional(),
  incomplete: z
    .array(z.object({ name, missing: z.array(text(1024)).transform((tools) => tools.slice(0, 100)) }))
    .transform((incomplete) => incomplete.slice(0, 100))
    .exactOptional(),
  mismatched: z
    .array(z.object({ name, problems: z.array(text(1024)).transform((problems) => problems.slice(0, 20)) }))
    .transform((mismatched) => mismatched.slice(0, 100))
    .exactOptional(),
  unusual: z
    .array(z.object({ name: text(1024), backend: name }))
    .transform((unusual) => unusual.slice(0, 100))
    .exactOptional(),
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Running, StartDeps } from '../../../../runtime/start.ts';
import { type FixtureBackend, startBackend, type BackendOptions } from '../../../fixtures/backend.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

/** An event as a reader of the log has it. */
export interface ReadEvent {
  readonly type: string;
  readonly outcome: string;
  readonly component: string;
  readonly replica: string;
  readonly sequence: number;
  readonly source?: { readonly value?: string; readonly extra: { readonly user_agent?: string } };
  readonly correlation_id?: string;
  readonly session?: string;
  readonly subjects?: Readonly<Record<string, string>>;
  readonly target?: Readonly<Record<string, string>>;
  readonly policy?: unknown;
  readonly credential?: { readonly strategy: string; readonly outcome: string };
  readonly metadata: { readonly extra: Readonly<Record<string, unknown>> };
  readonly data?: Readonly<Record<string, unknown>>;
}

const schema = JSON.parse(
  await readFile(new URL('../../../../docs/audit-event.schema.json', import.meta.url), 'utf8'),
) as object;
const validate = new Ajv2020({
  allErrors: true,
  formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ },
}).compile(schema);

/** The events of these lines, each of which must be of the published form, in printable ASCII. */
export const eventsIn = (text: string): ReadEvent[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      assert.match(line, /^[ -~]+$/);
      const event: unknown = JSON.parse(line);
      assert.ok(validate(event), `${line}\n${JSON.stringify(validate.errors)}`);
      return event as ReadEvent;
    });

export interface Audited {
  readonly running: Running;
  readonly url: string;
  readonly backend: FixtureBackend;
  readonly logFile: string;
  /** Stops the runtime, which writes all events, and reads them; those about auditing itself are left out. */
  readonly events: () => Promise<ReadEvent[]>;
  /** The same with all events. */
  readonly allEvents: () => Promise<ReadEvent[]>;
}

export interface AuditedOptions {
  readonly audit?: object;
  readonly extensions?: object;
  readonly backend?: BackendOptions;
  readonly more?: object;
}

/** A runtime over one backend `a` with the tool `t`, that writes its events into a file. */
export const startAudited = async (
  t: TestContext,
  { audit = {}, extensions = {}, backend: behaviour = { tools: ['t'] }, more = {} }: AuditedOptions = {},
  deps: Partial<StartDeps> = {},
): Promise<Audited> => {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-audit-'));
  const logFile = join(folder, 'audit.log');
  const backend = await startBackend(behaviour);
  const settings = { audit: { enabled: true, logFile, ...audit }, extensions, ...more };
  const running = await startRuntime(configFile({ a: backend.url }, settings), {}, deps);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= running.stop());
  t.after(async () => {
    await stop();
    await backend.close();
    await rm(folder, { recursive: true });
  });
  const allEvents = async (): Promise<ReadEvent[]> => {
    await stop();
    return eventsIn(await readFile(logFile, 'utf8').catch(() => ''));
  };
  return {
    running,
    url: running.url,
    backend,
    logFile,
    allEvents,
    events: async () => (await allEvents()).filter(({ type }) => !type.startsWith('audit_')),
  };
};

/** `type outcome name`, the short form of events. */
export const shortly = (events: readonly ReadEvent[]): string[] =>
  events.map(({ type, outcome, target }) =>
    [type, outcome, ...(target?.['name'] === undefined ? [] : [target['name']])].join(' '),
  );

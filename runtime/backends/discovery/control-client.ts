import type { Clock } from '../../process/index.ts';
import { asVmcpError, VmcpError } from '../../errors.ts';
import type { Fetch } from '../../outgoing/index.ts';
import type { ListSource, BackendCapabilities } from '../messages/backend-call.ts';
import { checkModern, probeEra, type ProbeBounds, type ProbedEra } from './era-probe.ts';
import type { HealthSettings } from './health.ts';
import { statelessListSource, StatelessClient } from '../stateless/stateless-client.ts';
import type { BackendSession } from '../session/session.ts';
import { pingRequest } from '../messages/small-messages.ts';

export interface ControlClientDeps {
  readonly backend: string;
  /** Path and query of the endpoint. */
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
  readonly clock: Clock;
  /** Sends with the gateway's own credential, never a caller's. */
  readonly fetch: Fetch;
  /** Whether the backend is probed for 2026-07-28; else it is taken to speak earlier revisions. */
  readonly mayBeModern: boolean;
  /** Whether a backend of 2026-07-28 may be asked for sessions of the revisions before it. */
  readonly mayHaveSessions: boolean;
  /** Opens a session that receives notifications of changed lists. */
  readonly openSession: () => BackendSession;
  /** Listens for changed lists at a backend of 2026-07-28 until the returned function is called. */
  readonly listen: () => () => void;
}

const LONGEST_PROBE_MS = 5_000;
const PING_ID = Buffer.from('"vmcp-check"');
const PING = pingRequest(PING_ID);

/** Failures that say nothing about the backend's revision. */
const SAME_BACKEND: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unreachable',
  'backend_timeout',
  'backend_unauthenticated',
  'credential_unavailable',
  'cancelled',
  'cancelled_by_client',
]);

/** Sends the gateway's own requests to a backend: finds its revision, reads its lists and checks its health. */
export class ControlClient {
  readonly #deps: ControlClientDeps;
  /**
   * Whether the backend's revision is known. `#modern` is set for 2026-07-28, else the backend is taken to speak
   * earlier ones.
   */
  #isProbed = false;
  #modern: { readonly link: StatelessClient; readonly capabilities: BackendCapabilities } | undefined;
  #session: BackendSession | undefined;
  #stopListening: (() => void) | undefined;
  #isStopped = false;
  /**
   * Of a backend of 2026-07-28, whether it keeps sessions of the revisions before it as well; undefined until a call
   * has asked for a session since the last probe.
   */
  hasSessions: boolean | undefined;

  constructor(deps: ControlClientDeps) {
    this.#deps = deps;
    this.hasSessions = deps.mayHaveSessions ? undefined : false;
  }

  /** The client for calls to a backend of 2026-07-28; undefined for others. */
  get modern(): StatelessClient | undefined {
    return this.#modern?.link;
  }

  /**
   * The error for a task request to a backend that is not of 2026-07-28: the tasks of 2025-11-25 differ and are not
   * relayed.
   */
  withoutTasks(): VmcpError {
    return this.#isProbed
      ? new VmcpError('unknown_name', 'unknown task')
      : new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" cannot be asked yet`);
  }

  /**
   * `ping`, or `server/discover` at a backend of 2026-07-28; probes the revision first where it is not known or has
   * changed.
   */
  async check(signal: AbortSignal, settings: Pick<HealthSettings, 'timeoutMs'>): Promise<ListSource> {
    try {
      return await this.#checked(signal, settings);
    } catch (error) {
      this.#isProbed = false;
      throw error;
    }
  }

  /**
   * The source of the lists of a backend of 2026-07-28; undefined for others. Where the revision is not known, it is
   * probed with the given fetch: a backend may refuse the gateway and answer a user. An answer to one user never makes
   * the backend an older one for other users.
   */
  async listSource(bounds: ProbeBounds): Promise<ListSource | undefined> {
    const { clientInfo, mayBeModern } = this.#deps;
    if (mayBeModern && !this.#isProbed && !this.#modern) {
      const probed = await probeEra(this.#deps, bounds);
      if (probed.era === 'modern') this.#noteProbed(probed);
    }
    return this.#modern && statelessListSource(this.#modern.link, clientInfo);
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopListening?.();
  }

  async #checked(signal: AbortSignal, { timeoutMs }: Pick<HealthSettings, 'timeoutMs'>): Promise<ListSource> {
    const { clock, fetch, mayBeModern } = this.#deps;
    const bounds = { clock, fetch, signal, idleTimeoutMs: timeoutMs };
    if (!mayBeModern) return this.#ping(bounds);
    if (this.#isProbed) {
      try {
        return await (this.#modern ? this.#discover(bounds) : this.#ping(bounds));
      } catch (error) {
        if (SAME_BACKEND.has(asVmcpError(error).code)) throw error;
      }
    }
    // Half of the time is left for a ping, as a backend may hang on a method that it does not know.
    const idleTimeoutMs = Math.min(LONGEST_PROBE_MS, timeoutMs / 2);
    const probed = await probeEra(this.#deps, { ...bounds, idleTimeoutMs });
    if (this.#deps.mayHaveSessions) this.hasSessions = undefined;
    const modern = this.#noteProbed(probed);
    return modern ?? this.#ping(bounds);
  }

  async #discover(bounds: ProbeBounds): Promise<ListSource> {
    return this.#noteProbed(await checkModern(this.#deps, bounds)) ?? this.#ping(bounds);
  }

  async #ping({ fetch, signal, idleTimeoutMs }: ProbeBounds): Promise<ListSource> {
    const session = (this.#session ??= this.#deps.openSession());
    await session.request({ bytes: PING, id: PING_ID, idleTimeoutMs, isDeadline: true, signal, fetch });
    return session;
  }

  /** Notes the probed revision of the backend. */
  #noteProbed(probed: ProbedEra): ListSource | undefined {
    this.#isProbed = probed.era !== 'undecided';
    if (probed.era === 'undecided') return undefined;
    if (probed.era === 'legacy') this.#setModern(undefined);
    else if (!this.#modern || !isSame(this.#modern.capabilities, probed.capabilities))
      this.#setModern(probed.capabilities);
    return this.#modern && statelessListSource(this.#modern.link, this.#deps.clientInfo);
  }

  #setModern(capabilities: BackendCapabilities | undefined): void {
    const { clock, listen } = this.#deps;
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#modern = capabilities && { link: new StatelessClient({ ...this.#deps, capabilities }, clock), capabilities };
    if (capabilities?.listChanged && !this.#isStopped) this.#stopListening = listen();
  }
}

const isSame = (a: BackendCapabilities, b: BackendCapabilities): boolean => JSON.stringify(a) === JSON.stringify(b);

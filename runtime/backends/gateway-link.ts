import type { Clock } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { ListLink } from './catalogue.ts';
import { checkModern, probeEra, type ProbeBounds, type ProbedEra } from './era-probe.ts';
import type { BackendCapabilities } from './handshake.ts';
import type { HealthSettings } from './health.ts';
import { modernListLink, ModernLink } from './modern-link.ts';
import type { BackendSession } from './session.ts';
import { pingRequest } from './small-messages.ts';

export interface GatewayLinkDeps {
  readonly backend: string;
  /** Of the endpoint, with its query. */
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
  readonly clock: Clock;
  /** With the gateway's own proof around it, never a caller's. */
  readonly fetch: Fetch;
  /** Whether it has to be found out which revisions the backend speaks; else those before 2026-07-28. */
  readonly mayBeModern: boolean;
  /** Whether a backend of 2026-07-28 may be asked for sessions of the revisions before it. */
  readonly mayHaveSessions: boolean;
  /** A session that hears of changed lists. */
  readonly openSession: () => BackendSession;
  /** Listens for changed lists at a backend of 2026-07-28 until the returned function is called. */
  readonly listen: () => () => void;
}

const LONGEST_PROBE_MS = 5_000;
const PING_ID = Buffer.from('"vmcp-check"');
const PING = pingRequest(PING_ID);

/** Failures that say nothing about what the backend is. */
const SAME_BACKEND: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unreachable',
  'backend_timeout',
  'backend_unauthenticated',
  'cancelled',
  'cancelled_by_client',
]);

/** The gateway's own way to a backend: which revisions it speaks, and what its lists and health are asked over. */
export class GatewayLink {
  readonly #deps: GatewayLinkDeps;
  /** It is known which revisions the backend speaks: while it is undefined, those before 2026-07-28. */
  #isProbed = false;
  #modern: { readonly link: ModernLink; readonly capabilities: BackendCapabilities } | undefined;
  #session: BackendSession | undefined;
  #stopListening: (() => void) | undefined;
  #isStopped = false;
  /**
   * Of a backend of 2026-07-28, whether it keeps sessions of the revisions before it as well; undefined until somebody has asked for one
   * since it was last found out what it is.
   */
  hasSessions: boolean | undefined;

  constructor(deps: GatewayLinkDeps) {
    this.#deps = deps;
    this.hasSessions = deps.mayHaveSessions ? undefined : false;
  }

  /** The way of calls to a backend of 2026-07-28. */
  get modern(): ModernLink | undefined {
    return this.#modern?.link;
  }

  /** Why a backend that is not of 2026-07-28 cannot be asked after a task: those of 2025-11-25 are others, and not relayed. */
  withoutTasks(): VmcpError {
    return this.#isProbed
      ? new VmcpError('unknown_name', 'unknown task')
      : new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" cannot be asked yet`);
  }

  /** `ping`, or `server/discover` at a backend of 2026-07-28; what it is, is found out first where that is not known or has changed. */
  async check(signal: AbortSignal, settings: Pick<HealthSettings, 'timeoutMs'>): Promise<ListLink> {
    try {
      return await this.#checked(signal, settings);
    } catch (error) {
      this.#isProbed = false;
      throw error;
    }
  }

  /**
   * The way to the lists of a backend of 2026-07-28; undefined at others. Where it is not known which it is, it is found out with the fetch
   * given: a backend may refuse to tell the gateway and tell a user. What one user is told makes it no older one for the others.
   */
  async listLink(bounds: ProbeBounds): Promise<ListLink | undefined> {
    const { clientInfo, mayBeModern } = this.#deps;
    if (mayBeModern && !this.#isProbed && !this.#modern) {
      const probed = await probeEra(this.#deps, bounds);
      if (probed.era === 'modern') this.#found(probed);
    }
    return this.#modern && modernListLink(this.#modern.link, clientInfo);
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopListening?.();
  }

  async #checked(signal: AbortSignal, { timeoutMs }: Pick<HealthSettings, 'timeoutMs'>): Promise<ListLink> {
    const { clock, fetch, mayBeModern } = this.#deps;
    const bounds = { clock, fetch, signal, silenceMs: timeoutMs };
    if (!mayBeModern) return this.#ping(bounds);
    if (this.#isProbed) {
      try {
        return await (this.#modern ? this.#discover(bounds) : this.#ping(bounds));
      } catch (error) {
        if (SAME_BACKEND.has(asVmcpError(error).code)) throw error;
      }
    }
    // Half of the time is left for one that hangs on what it does not know.
    const silenceMs = Math.min(LONGEST_PROBE_MS, timeoutMs / 2);
    const probed = await probeEra(this.#deps, { ...bounds, silenceMs });
    if (this.#deps.mayHaveSessions) this.hasSessions = undefined;
    const modern = this.#found(probed);
    return modern ?? this.#ping(bounds);
  }

  async #discover(bounds: ProbeBounds): Promise<ListLink> {
    return this.#found(await checkModern(this.#deps, bounds)) ?? this.#ping(bounds);
  }

  async #ping({ fetch, signal, silenceMs }: ProbeBounds): Promise<ListLink> {
    const session = (this.#session ??= this.#deps.openSession());
    await session.request({ bytes: PING, id: PING_ID, silenceMs, isDeadline: true, signal, fetch });
    return session;
  }

  /** Takes over what the backend turned out to be. */
  #found(probed: ProbedEra): ListLink | undefined {
    this.#isProbed = probed.era !== 'undecided';
    if (probed.era === 'undecided') return undefined;
    if (probed.era === 'legacy') this.#become(undefined);
    else if (!this.#modern || !isSame(this.#modern.capabilities, probed.capabilities))
      this.#become(probed.capabilities);
    return this.#modern && modernListLink(this.#modern.link, this.#deps.clientInfo);
  }

  #become(capabilities: BackendCapabilities | undefined): void {
    const { clock, listen } = this.#deps;
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#modern = capabilities && { link: new ModernLink({ ...this.#deps, capabilities }, clock), capabilities };
    if (capabilities?.listChanged && !this.#isStopped) this.#stopListening = listen();
  }
}

const isSame = (a: BackendCapabilities, b: BackendCapabilities): boolean => JSON.stringify(a) === JSON.stringify(b);

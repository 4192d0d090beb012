import type { Caller } from '../call.ts';
import { VmcpError } from '../errors.ts';
import type { AddressedFetch, Fetch, Prove, Strategy } from '../outgoing/index.ts';
import type { BackendDeps, BackendSettings } from './backend-settings.ts';
import { bundleOf } from './ca-bundle.ts';
import { type Connection, openConnection } from './connection.ts';

/** The gateway itself, listing and checking. */
export const PROBE: Caller = { kind: 'probe' };

/** The HTTP client of one backend, which proves who is calling with every request it sends. */
export class BackendClient {
  readonly #backend: string;
  readonly #connection: Connection;
  readonly #strategy: Strategy;
  #closing: Promise<void> | undefined;
  readonly #currentCaller: BackendDeps['currentCaller'];
  /** Says where requests go, for strategies that sign that too. */
  readonly #addressed: (send: AddressedFetch) => Fetch;

  constructor(settings: BackendSettings, deps: BackendDeps) {
    const { origin, protocol, host } = new URL(settings.url);
    this.#backend = settings.name;
    this.#strategy = deps.connectStrategy(settings.strategy, { name: settings.name, origin });
    this.#connection = openConnection(origin, deps.limits, { ...deps, caBundle: bundleOf(settings, deps) });
    this.#currentCaller = deps.currentCaller;
    const scheme = protocol === 'https:' ? 'https' : 'http';
    this.#addressed = (send) => (request) => send({ ...request, scheme, host });
  }

  /** The backend may list something else to each user. */
  get dependsOnCaller(): boolean {
    return this.#strategy.dependsOnCaller;
  }

  /** The gateway's own requests. */
  readonly probe: Fetch = (request) => this.#speaking(PROBE)({ ...request, lane: 'control' });

  /** Speaks for the caller whenever something is sent, with the token that is valid then. */
  fetchFor(caller: Caller): Fetch {
    if (caller.kind !== 'user' || !this.#strategy.prove) return this.#speaking(caller);
    return async (request) => this.#speaking(this.#currentCaller(caller))(request);
  }

  /** Speaks for the owner of a session, by the token that the owner has presented last when something is sent. */
  fetchForOwner(owner: () => Caller): Fetch {
    return async (request) => this.fetchFor(owner())(request);
  }

  /** Lets requests that are under way finish. */
  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#closeStrategy()]);
  }

  /** Breaks everything off. */
  async destroy(): Promise<void> {
    await Promise.all([this.#connection.destroy(), this.#closeStrategy()]);
  }

  /** Once, however a backend ends. */
  #closeStrategy(): Promise<void> {
    this.#closing ??= this.#strategy.close();
    return this.#closing;
  }

  #speaking(caller: Caller): Fetch {
    const { fetch } = this.#connection;
    const { prove } = this.#strategy;
    return prove ? this.#proved(caller, prove) : fetch;
  }

  /** What fails before anything is sent to the backend is not the backend's doing. */
  #proved(caller: Caller, prove: Prove): Fetch {
    return async (request) => {
      let isSent = false;
      const send = this.#addressed(
        prove(caller)((addressed) => {
          isSent = true;
          return this.#connection.fetch(addressed);
        }),
      );
      try {
        return await send(request);
      } catch (cause) {
        if (isSent || cause instanceof VmcpError) throw cause;
        throw new VmcpError('credential_unavailable', `no credential for backend "${this.#backend}" is to be had`, {
          cause,
        });
      }
    };
  }
}

import { isDeepStrictEqual } from 'node:util';
import { type Clock, sleep } from '../../runtime/clock.ts';
import type { ApiClient } from '../api/client.ts';
import type { ClusterIssuer } from '../plan/settings.ts';

interface IssuerDeps {
  readonly api: Pick<ApiClient, 'clusterIssuer'>;
  readonly clock: Clock;
  /** What is rendered from it has to be rendered anew. */
  readonly onChange: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Kubernetes keeps an old key valid for as long as tokens that it signed live, an hour at least. */
const refreshMs = 5 * 60_000;

/** Who issues the cluster's service-account tokens (decisions "Service-account tokens"), kept equal to what the API server says. */
export class IssuerWatch {
  readonly #deps: IssuerDeps;
  #known: ClusterIssuer | undefined;

  constructor(deps: IssuerDeps) {
    this.#deps = deps;
  }

  get issuer(): ClusterIssuer | undefined {
    return this.#known;
  }

  /** Asks now. What is known stays while nobody answers. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { api, onChange, onFailure } = this.#deps;
    try {
      const found = await api.clusterIssuer(signal);
      if (isDeepStrictEqual(found, this.#known)) return;
      this.#known = found;
      onChange();
    } catch (error) {
      if (!signal.aborted) onFailure(error);
    }
  }

  /** Asks again and again until the signal is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#deps.clock, refreshMs, signal);
      if (!signal.aborted) await this.refresh(signal);
    }
  }
}

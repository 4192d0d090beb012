import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../api/client.ts';
import type { ClusterIssuer } from '../plan/settings.ts';

/**
 * Who issues the cluster's service-account tokens (docs/decisions.md "Tokens of service accounts"), as the API server
 * said last.
 */
export class KnownIssuer {
  readonly #api: Pick<ApiClient, 'clusterIssuer'>;
  #known: ClusterIssuer | undefined;

  constructor(api: Pick<ApiClient, 'clusterIssuer'>) {
    this.#api = api;
  }

  get issuer(): ClusterIssuer | undefined {
    return this.#known;
  }

  /** Asks now. True: it is not what it was. Throws while nobody answers; what is known stays. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const found = await this.#api.clusterIssuer(signal);
    if (isDeepStrictEqual(found, this.#known)) return false;
    this.#known = found;
    return true;
  }
}

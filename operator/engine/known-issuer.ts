import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../api/client.ts';
import type { ClusterIssuer } from '../plan/settings.ts';

/**
 * The issuer of the cluster's service-account tokens (docs/decisions.md "Tokens of service accounts"), as the API
 * server reported it last.
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

  /**
   * Reads the issuer again. True: it has changed. Throws while the API server does not answer; the known issuer stays.
   */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const found = await this.#api.clusterIssuer(signal);
    if (isDeepStrictEqual(found, this.#known)) return false;
    this.#known = found;
    return true;
  }
}

import type { Provider } from 'oidc-provider';
import type { Answer } from '../answer.ts';
import { ENDPOINTS } from '../paths.ts';
import type { AuthServerSettings } from '../settings.ts';
import { oauthExchange, type OAuthExchange } from './exchange.ts';
import { INTERACTION_PATH, RESUME_COOKIE } from './provider.ts';

/** A client's authorization request that waits for its user. */
export interface WaitingRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

/** The OAuth part, as logins see it. */
export interface OAuth {
  readonly exchange: OAuthExchange;
  /** Undefined: it has ended, or its time is over. */
  readonly waiting: (interaction: string) => Promise<WaitingRequest | undefined>;
  /** The answer that gives the client its code. Undefined: as `waiting`. */
  readonly approve: (interaction: string, by: FromBrowser & { readonly user: string }) => Promise<Answer | undefined>;
  /** The answer that tells the client the refusal. Undefined: as `waiting`. */
  readonly deny: (interaction: string, by: FromBrowser & { readonly why: string }) => Promise<Answer | undefined>;
}

interface FromBrowser {
  /** Of the browser, as far as it is known. */
  readonly address: string | undefined;
}

/** The id of the interaction where an answer of the authorization endpoint waits for a login; else undefined. */
export const interactionIn = ({ headers: { location = '' } }: Answer): string | undefined =>
  location.startsWith(INTERACTION_PATH) ? location.slice(INTERACTION_PATH.length) : undefined;

/** OAuth's word for why an answer of the authorization endpoint is a refusal; undefined: it is none. */
export const errorIn = ({ headers: { location }, body }: Answer): string | undefined => {
  if (location === undefined) return textOrNone((JSON.parse(body) as Readonly<Record<string, unknown>>)['error']);
  const { searchParams, hash } = URL.parse(location) ?? {};
  return searchParams?.get('error') ?? new URLSearchParams(hash?.slice(1)).get('error') ?? undefined;
};

const textOrNone = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const oauthOf = (provider: Provider, { resource }: Pick<AuthServerSettings, 'resource'>): OAuth => {
  const exchange = oauthExchange(provider);
  const resume = (interaction: string, address: string | undefined): Promise<Answer> =>
    exchange({
      method: 'GET',
      path: `${ENDPOINTS.authorize}/${interaction}`,
      headers: { cookie: `${RESUME_COOKIE}=${interaction}` },
      address,
    });
  return {
    exchange,
    waiting: async (id) => {
      const interaction = await provider.Interaction.find(id);
      return interaction && requestIn(interaction.params);
    },
    approve: async (id, { user, address }) => {
      const interaction = await provider.Interaction.find(id);
      if (!interaction) return undefined;
      const { clientId, scopes } = requestIn(interaction.params);
      const grant = new provider.Grant({ accountId: user, clientId });
      grant.addOIDCScope(scopes.join(' '));
      grant.addResourceScope(resource, scopes.join(' '));
      const grantId = await grant.save();
      interaction.result = { login: { accountId: user, remember: false }, consent: { grantId } };
      await interaction.persist();
      return resume(id, address);
    },
    deny: async (id, { why, address }) => {
      const interaction = await provider.Interaction.find(id);
      if (!interaction) return undefined;
      interaction.result = { error: 'access_denied', error_description: why };
      await interaction.persist();
      return resume(id, address);
    },
  };
};

const requestIn = (params: Readonly<Record<string, unknown>>): WaitingRequest => ({
  clientId: textIn(params, 'client_id'),
  redirectUri: textIn(params, 'redirect_uri'),
  scopes: textIn(params, 'scope')
    .split(' ')
    .filter((scope) => scope !== ''),
});

const textIn = (params: Readonly<Record<string, unknown>>, name: string): string => textOrNone(params[name]) ?? '';

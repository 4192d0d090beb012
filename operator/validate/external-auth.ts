import { providerNameSchema } from '../../runtime/config/index.ts';
import { addressViolations } from './address.ts';
import { headerViolations } from './headers.ts';
import { type Validator, type Violation, violation } from './validator.ts';

interface Spec {
  readonly tokenExchange?: TokenExchange;
  readonly headerInjection?: { readonly headerName: string };
  readonly upstreamInject?: { readonly providerName: string };
}

interface TokenExchange {
  readonly tokenUrl: string;
  readonly clientId?: string;
  readonly clientSecretRef?: unknown;
  readonly externalTokenHeaderName?: string;
  readonly subjectProviderName?: string;
}

/** spec: MCPExternalAuthConfig. Its embedded server and cloudSts have rules of their own. */
export const externalAuth: Validator = {
  kinds: ['MCPExternalAuthConfig'],
  validate: ({ spec }) => {
    const { tokenExchange, headerInjection, upstreamInject } = spec as Spec;
    return [
      ...(tokenExchange === undefined ? [] : exchangeViolations(tokenExchange)),
      ...header('spec.headerInjection.headerName', headerInjection?.headerName),
      ...provider('spec.upstreamInject.providerName', upstreamInject?.providerName),
    ];
  },
};

/** Whether a token endpoint needs TLS depends on the issuer of whoever refers to it (decisions "Addresses that may be fetched"). */
const exchangeViolations = (exchange: TokenExchange): readonly Violation[] => {
  const at = 'spec.tokenExchange';
  const hasNobody = exchange.clientSecretRef !== undefined && (exchange.clientId ?? '') === '';
  return [
    ...addressViolations(`${at}.tokenUrl`, exchange.tokenUrl),
    // RFC 6749 §2.3.1
    ...(hasNobody ? [violation(`${at}.clientSecretRef`, 'is the secret of no client', 'set clientId')] : []),
    ...header(`${at}.externalTokenHeaderName`, exchange.externalTokenHeaderName),
    ...provider(`${at}.subjectProviderName`, exchange.subjectProviderName),
  ];
};

/** A header left empty counts as left out. */
const header = (path: string, name = ''): readonly Violation[] =>
  name === '' ? [] : headerViolations([{ path, name }]);

/** The same for a provider; no server can have one of another form. */
const provider = (path: string, name = ''): readonly Violation[] =>
  name === '' || providerNameSchema.safeParse(name).success
    ? []
    : [
        violation(
          path,
          'is no name of a provider',
          'use lower-case letters, digits and inner hyphens, as upstreamProviders do',
        ),
      ];

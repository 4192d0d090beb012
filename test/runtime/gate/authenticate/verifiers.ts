import { fixedKeys } from '../../../../runtime/gate/authenticate/issuer-keys.ts';
import type { IssuerVerifier } from '../../../../runtime/gate/authenticate/issuer-verifier.ts';

/** A verifier of this issuer's tokens that has no keys. */
export const verifierOf = (issuer: string): IssuerVerifier => {
  const issuerKeys = { keys: [] };
  return {
    settings: {
      issuer,
      issuerKeys,
      audiences: [],
      jwksUrl: undefined,
      jwksAllowPrivateIp: false,
      insecureAllowHttp: false,
      caBundlePath: undefined,
      scopes: [],
      claimMapping: {},
      introspection: undefined,
    },
    keys: fixedKeys(issuerKeys),
    introspect: undefined,
  };
};

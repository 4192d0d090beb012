import { addressViolations } from './address.ts';
import type { Validator } from './validator.ts';

interface Inline {
  readonly issuer: string;
  readonly jwksUrl?: string;
  readonly introspectionUrl?: string;
  readonly insecureAllowHTTP?: boolean;
}

/** spec: MCPOIDCConfig; what the audience may be is the business of whoever refers to it. */
export const oidcConfig: Validator = {
  kinds: ['MCPOIDCConfig'],
  validate: ({ spec }) => {
    const { inline } = spec as { readonly inline?: Inline };
    if (inline === undefined) return [];
    const use = { needsTls: inline.insecureAllowHTTP !== true };
    return [
      ...addressViolations('spec.inline.issuer', inline.issuer, { ...use, isIssuer: true }),
      ...addressViolations('spec.inline.jwksUrl', inline.jwksUrl, use),
      ...addressViolations('spec.inline.introspectionUrl', inline.introspectionUrl, use),
    ];
  },
};

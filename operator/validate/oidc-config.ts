import { specOf } from '../../crds/index.ts';
import { addressViolations } from './address.ts';
import type { Validator } from './validator.ts';

/** docs/resources.md "MCPOIDCConfig"; the audience is validated in the objects that refer to it. */
export const oidcConfig: Validator = {
  kinds: ['MCPOIDCConfig'],
  validate: (config) => {
    const { inline } = specOf('MCPOIDCConfig', config);
    if (inline === undefined) return [];
    const use = { needsTls: inline.insecureAllowHTTP !== true };
    return [
      ...addressViolations('spec.inline.issuer', inline.issuer, { ...use, isIssuer: true }),
      ...addressViolations('spec.inline.jwksUrl', inline.jwksUrl, use),
      ...addressViolations('spec.inline.introspectionUrl', inline.introspectionUrl, use),
    ];
  },
};

import { specOf } from '../../crds/index.ts';
import { blockOf, everyStrategy, providerNameSchema } from '../../runtime/config/index.ts';
import { addressViolations } from './address.ts';
import { headerViolations } from './headers.ts';
import { type Validator, type Violation, violation } from './validator.ts';

/**
 * docs/resources.md "MCPExternalAuthConfig". Slices of strategies say which keys hold what; the embedded server has its
 * own rules.
 */
export const externalAuth: Validator = {
  kinds: ['MCPExternalAuthConfig'],
  validate: (config) =>
    everyStrategy.flatMap(([name, { addresses = [], headers = [], provider }]) => {
      const block = blockOf(specOf('MCPExternalAuthConfig', config), name);
      if (block === undefined) return [];
      const at = (key: string): readonly [path: string, text: string | undefined] => {
        const value = block[key];
        return [`spec.${name}.${key}`, typeof value === 'string' ? value : undefined];
      };
      return [
        // Whether a token endpoint needs TLS depends on the issuer of the server that refers to it
        // (docs/decisions.md "Addresses that may be fetched").
        ...addresses.flatMap((key) => addressViolations(...at(key))),
        ...headers.flatMap((key) => header(...at(key))),
        ...(provider === undefined ? [] : unusableProvider(...at(provider))),
      ];
    }),
};

/** A header left empty counts as left out. */
const header = (path: string, name = ''): readonly Violation[] =>
  name === '' ? [] : headerViolations([{ path, name }]);

/** The same for a provider; no server can have one of another form. */
const unusableProvider = (path: string, name = ''): readonly Violation[] =>
  name === '' || providerNameSchema.safeParse(name).success
    ? []
    : [
        violation(
          path,
          'is no name of a provider',
          'use lower-case letters, digits and inner hyphens, as upstreamProviders do',
        ),
      ];

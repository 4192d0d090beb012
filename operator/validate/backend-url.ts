import { fieldsOf, specOf } from '../../crds/index.ts';
import { addressProblem, type Remedies } from './address.ts';
import { type Validator, type Violation, violation } from './validator.ts';

/** What is wrong with the URL of a backend, with the remedy; undefined when it may be contacted. */
export const urlProblem = (text: string): string | undefined => problemOf(text)?.join('; ');

/**
 * Only what the text alone shows: a name that resolves to such an address is refused when it is connected to
 * (docs/decisions.md "Addresses that may be fetched").
 */
const problemOf = (text: string): readonly [reason: string, remedy: string] | undefined =>
  URL.canParse(text)
    ? addressProblem(new URL(text), REMEDIES)
    : ['is no URL', 'write http:// or https://, host and path'];

const REMEDIES: Remedies = {
  protocol: 'use http:// or https://',
  credentials: 'remove them, and let externalAuthConfigRef name a Secret',
  host: 'name the address of the MCP server',
};

const REMOTE = ['MCPServerEntry', 'MCPRemoteProxy'] as const;

/** `remoteUrl` of docs/resources.md "MCPServerEntry" and docs/resources.md "MCPRemoteProxy" */
export const remoteUrl: Validator = {
  kinds: REMOTE,
  validate: (object) => {
    const { remoteUrl: url } = fieldsOf(REMOTE, object);
    return urlViolations('spec.remoteUrl', url).map((each) => ({ ...each, conditionReason: 'InvalidUrl' as const }));
  },
};

/**
 * `url` of docs/configuration.md "backends". Also while the list is not served: an accepted spec is kept in a
 * ConfigMap, where credentials must not go.
 */
export const backendUrls: Validator = {
  kinds: ['VirtualMCPServer'],
  validate: (server) => {
    const { config } = specOf('VirtualMCPServer', server);
    return (config?.backends ?? []).flatMap(({ url }, index) =>
      urlViolations(`spec.config.backends[${index}].url`, url),
    );
  },
};

/** The schema reports a URL that is not a string. */
const urlViolations = (path: string, url: unknown): readonly Violation[] => {
  const wrong = typeof url === 'string' ? problemOf(url) : undefined;
  return wrong === undefined ? [] : [violation(path, ...wrong)];
};

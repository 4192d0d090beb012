import { isForbiddenHost } from './address.ts';
import { type Validator, type Violation, violation } from './validator.ts';

/**
 * What is wrong with the URL of a backend, with the remedy; undefined when it may be contacted. Only what the text alone
 * tells: a name that resolves to such an address is refused when it is connected to (decisions "Addresses that may be fetched").
 */
export const urlProblem = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'is no URL; write http:// or https://, host and path';
  const url = new URL(text);
  return CHECKS.map((check) => check(url)).find((found) => found !== undefined);
};

const CHECKS: readonly ((url: URL) => string | undefined)[] = [
  ({ protocol }) =>
    protocol === 'http:' || protocol === 'https:' ? undefined : `${protocol}// is not spoken; use http:// or https://`,
  ({ username, password }) =>
    username === '' && password === ''
      ? undefined
      : 'holds credentials; remove them, and let externalAuthConfigRef name a Secret',
  ({ hash }) => (hash === '' ? undefined : 'has a fragment, which no server sees; remove it'),
  ({ hostname }) =>
    isForbiddenHost(hostname) ? 'is a link-local or metadata address; name the address of the MCP server' : undefined,
];

/** spec: MCPServerEntry.remoteUrl */
export const entryUrl: Validator = {
  kinds: ['MCPServerEntry'],
  validate: ({ spec }) => {
    const { remoteUrl } = spec as { readonly remoteUrl: string };
    return urlViolations('spec.remoteUrl', remoteUrl).map((each) => ({ ...each, word: 'InvalidUrl' as const }));
  },
};

/**
 * spec: config.backends[].url. Also while the list is not served: an accepted spec is kept in a ConfigMap, where credentials
 * must not go.
 */
export const backendUrls: Validator = {
  kinds: ['VirtualMCPServer'],
  validate: ({ spec }) => {
    const { config } = spec as { readonly config?: { readonly backends?: readonly Backend[] } };
    return (config?.backends ?? []).flatMap(({ url }, index) =>
      urlViolations(`spec.config.backends[${index}].url`, url),
    );
  },
};

interface Backend {
  readonly url: string;
}

/** A URL that is no text at all is told by the schema. */
const urlViolations = (path: string, url: unknown): readonly Violation[] => {
  const wrong = typeof url === 'string' ? urlProblem(url) : undefined;
  const [reason = '', remedy = ''] = wrong?.split('; ') ?? [];
  return wrong === undefined ? [] : [violation(path, reason, remedy)];
};

/** The URL that names a resource over HTTP; undefined where it is named by something else. */
export const resourceUrlIn = (identifier: string): URL | undefined => {
  const url = URL.parse(identifier);
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
};

/**
 * The canonical form of a resource's identifier (MCP 2025-11-25 "Canonical Server URI"): of an HTTP URL, scheme and
 * host in lower case, no default port, no fragment, no slash behind a bare host. Other identifiers are as they are.
 */
export const canonicalResource = (identifier: string): string => {
  const url = resourceUrlIn(identifier);
  if (!url) return identifier;
  const { origin, pathname, search } = url;
  return `${origin}${pathname === '/' && search === '' ? '' : pathname}${search}`;
};

/**
 * The texts by which clients and issuers call this audience: the given one and, of an HTTP URL, the forms that RFC 3986
 * §6.2.2 and §6.2.3 hold for the same. A client that parses the `resource` `https://host` asks for tokens for
 * `https://host/`, since its URL library writes it so.
 */
export const audienceForms = (audience: string): readonly string[] => {
  const url = resourceUrlIn(audience);
  if (!url || url.username !== '' || url.password !== '' || url.hash !== '') return [audience];
  return [...new Set([audience, canonicalResource(audience), url.href])];
};

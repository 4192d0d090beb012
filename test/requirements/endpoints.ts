import { proven } from './rule.ts';

export const endpoints = {
  'endpoints.mcp.single-endpoint': proven('A VirtualMCPServer offers the capabilities of all backends of its group at one single MCP endpoint.'),
  'endpoints.mcp.one-server-identity': proven('Clients see one MCP server: one initialize handshake and one server identity, whatever the number of backends.'),
  'endpoints.as-metadata': proven('GET `{issuer}/.well-known/oauth-authorization-server` returns the RFC 8414 discovery document as JSON.'),
  'endpoints.as-metadata.registration-endpoint': proven('The discovery document advertises the registration endpoint at path `/oauth/register`.'),
  'endpoints.as-metadata.token-and-jwks-served': proven('The token and JWKS endpoints advertised in the discovery document are served at the advertised addresses.'),
  'endpoints.authorize': proven('GET `/oauth/authorize` takes a standard authorization request and starts authorization by redirecting the browser to the first upstream provider.'),
  'endpoints.register': proven('POST `/oauth/register` takes RFC 7591 client metadata, including `scope`, and registers an MCP client.'),
  'endpoints.callback': proven('GET `/oauth/callback` takes the upstream authorization response and continues the login.'),
  'endpoints.metrics.only-when-enabled': proven('`/metrics` is present only when `enablePrometheusMetricsPath` is true.'),
  'endpoints.protected-resource.served': proven('GET on the RFC 9728 well-known path returns the protected-resource metadata.'),
  'endpoints.protected-resource.authorization-server': proven('The protected-resource metadata names the authorization server that applies.'),
  'endpoints.mcp.streamable-http': proven('The aggregated MCP endpoint is reachable over `streamable-http`.'),
  'endpoints.mcp.sse': proven('The aggregated MCP endpoint is reachable over `sse`.'),
};

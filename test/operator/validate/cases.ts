/** Specs as a user writes them, and what the rules beyond OpenAPI and CEL say to them. */

const secret = { name: 'api', key: 'token' };
export const oidc = (inline: object) => ({ type: 'inline', inline: { issuer: 'https://idp.example.com', ...inline } });
const exchange = (more: object) => ({
  type: 'tokenExchange',
  tokenExchange: { tokenUrl: 'https://sts.example.com/token', audience: 'api', ...more },
});
const header = (headerName: string) => ({
  type: 'headerInjection',
  headerInjection: { headerName, valueSecretRef: secret },
});
export const authServer = (more: object) => ({
  issuer: 'https://auth.example.com',
  upstreamProviders: [
    {
      name: 'idp',
      type: 'oidc',
      oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'a', scopes: ['repo'] },
    },
  ],
  ...more,
});
const otlp = (more: object) => ({
  openTelemetry: { enabled: true, endpoint: 'collector:4318', tracing: { enabled: true }, ...more },
});
const entry = (headerForward: object) => ({
  groupRef: { name: 'tools' },
  remoteUrl: 'https://a.example.com/mcp',
  transport: 'sse',
  headerForward,
});
const workflow = (...steps: readonly object[]) => ({
  name: 'w',
  steps: steps.map((step, index) => ({ id: `s${index}`, type: 'tool', tool: 'a.b', ...step })),
});

/** What is right. */
export const fine: readonly (readonly [kind: string, spec: object])[] = [
  ['MCPOIDCConfig', oidc({ jwksUrl: 'https://idp.example.com/keys?v=1', clientSecretRef: secret })],
  ['MCPOIDCConfig', oidc({ issuer: 'https://tenant.example.com/' })],
  ['MCPOIDCConfig', oidc({ issuer: 'http://127.0.0.1:8080/realm', insecureAllowHTTP: true })],
  ['MCPOIDCConfig', { type: 'clusterServiceAccount', clusterServiceAccount: {} }],
  ['MCPExternalAuthConfig', { type: 'unauthenticated' }],
  ['MCPExternalAuthConfig', exchange({ clientId: 'a', clientSecretRef: secret, externalTokenHeaderName: 'X-Token' })],
  ['MCPExternalAuthConfig', exchange({ tokenUrl: 'http://sts.tools.svc/token' })],
  ['MCPExternalAuthConfig', header('Authorization')],
  ['MCPExternalAuthConfig', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret } }],
  ['MCPExternalAuthConfig', { type: 'upstreamInject', upstreamInject: { providerName: 'git-hub' } }],
  [
    'MCPExternalAuthConfig',
    { type: 'embeddedAuthServer', embeddedAuthServer: authServer({ baselineClientScopes: ['openid', 'repo'] }) },
  ],
  [
    'MCPTelemetryConfig',
    otlp({ headers: { 'X-Team': 'tools' }, sensitiveHeaders: [{ name: 'Authorization', secretKeyRef: secret }] }),
  ],
  ['MCPTelemetryConfig', otlp({ endpoint: 'https://otlp.example.com' })],
  ['MCPTelemetryConfig', { prometheus: { enabled: true } }],
  [
    'MCPToolConfig',
    { toolsFilter: ['a'], toolsOverride: { a: { name: 'b' }, b: { name: 'a' }, c: { description: 'd' } } },
  ],
  ['VirtualMCPCompositeToolDefinition', workflow({}, { dependsOn: ['s0'] })],
  ['MCPServerEntry', entry({ addPlaintextHeaders: { 'X-Team': 'tools' } })],
];

type Refused = readonly [kind: string, why: string, spec: object, violations: readonly string[]];

/** What breaks rules that look at nothing but the object. */
export const refused: readonly Refused[] = [
  [
    'MCPOIDCConfig',
    'no URL',
    oidc({ issuer: 'idp' }),
    ['spec.inline.issuer: is no URL; write https://, host and path'],
  ],
  [
    'MCPOIDCConfig',
    'plain HTTP',
    oidc({ issuer: 'http://idp.example.com', jwksUrl: 'http://idp.example.com/keys' }),
    ['issuer', 'jwksUrl'].map((field) => `spec.inline.${field}: an address without TLS is not allowed; use https://`),
  ],
  [
    'MCPOIDCConfig',
    'an issuer with a query',
    oidc({ issuer: 'https://idp.example.com?tenant=a' }),
    ['spec.inline.issuer: has a query, which no issuer has; remove it'],
  ],
  [
    'MCPOIDCConfig',
    'a metadata address',
    oidc({ issuer: 'http://169.254.169.254', insecureAllowHTTP: true }),
    ['spec.inline.issuer: is a link-local or metadata address; name the address of the service'],
  ],
  [
    'MCPExternalAuthConfig',
    'a token endpoint with credentials',
    exchange({ tokenUrl: 'https://me:pw@sts.example.com' }),
    ['spec.tokenExchange.tokenUrl: holds credentials; remove them; a Secret is the place for them'],
  ],
  [
    'MCPExternalAuthConfig',
    'names that cannot be',
    exchange({ externalTokenHeaderName: 'X Token', subjectProviderName: 'GitHub' }),
    [
      'spec.tokenExchange.externalTokenHeaderName: "X Token" is no header name; use letters, digits and hyphens',
      'spec.tokenExchange.subjectProviderName: is no name of a provider; use lower-case letters, digits and inner hyphens, as upstreamProviders do',
    ],
  ],
  [
    'MCPExternalAuthConfig',
    'a header of the transport',
    header('Mcp-Session-Id'),
    ['spec.headerInjection.headerName: Mcp-Session-Id belongs to the connection or to MCP; use another header'],
  ],
  [
    'MCPExternalAuthConfig',
    'a scope that the server does not support',
    { type: 'embeddedAuthServer', embeddedAuthServer: authServer({ baselineClientScopes: ['openid', 'admin'] }) },
    [
      'spec.embeddedAuthServer.baselineClientScopes[1]: admin is no scope that this server supports; use openid, profile, email, offline_access, repo, or add it to the scopes of an upstream provider',
    ],
  ],
  [
    'MCPTelemetryConfig',
    'a secret in the resource',
    otlp({ headers: { authorization: 'Bearer x' } }),
    [
      'spec.openTelemetry.headers["authorization"]: authorization would put a secret into the resource; take its value from a Secret',
    ],
  ],
  [
    'MCPTelemetryConfig',
    'a header twice in different letters',
    otlp({ headers: { 'x-key': 'a' }, sensitiveHeaders: [{ name: 'X-Key', secretKeyRef: secret }] }),
    [
      'spec.openTelemetry.sensitiveHeaders[0].name: X-Key is set by spec.openTelemetry.headers["x-key"] too; the case of letters makes no difference; keep one of them',
    ],
  ],
  [
    'MCPTelemetryConfig',
    'HTTP and HTTPS at once',
    otlp({ endpoint: 'https://otlp.example.com', insecure: true }),
    ['spec.openTelemetry.endpoint: says https:// while insecure says HTTP; set insecure to false'],
  ],
  [
    'MCPTelemetryConfig',
    'no address',
    otlp({ endpoint: 'not an address' }),
    ['spec.openTelemetry.endpoint: is no address; write host:port, or http:// or https:// and a host'],
  ],
  [
    'MCPToolConfig',
    'two tools of one name',
    { toolsOverride: { a: { name: 'find' }, b: { name: 'find' }, find: { description: 'third' } } },
    [
      'spec.toolsOverride["b"].name: find is what a is called too; give every tool a name of its own',
      'spec.toolsOverride["find"].name: find is what a is called too; give every tool a name of its own',
    ],
  ],
  [
    'MCPExternalAuthConfig',
    'a matcher over what there is not',
    {
      type: 'cloudSts',
      cloudSts: {
        region: 'eu-west-1',
        roleMappings: [{ roleArn: 'arn:aws:iam::123456789012:role/tools', matcher: '"admins" in groups' }],
      },
    },
    [
      'spec.cloudSts.roleMappings[0].matcher: no CEL condition over claims: there is no variable groups; write, for instance, "admins" in claims.groups',
    ],
  ],
  [
    'VirtualMCPCompositeToolDefinition',
    'templates that read what is not there, or are none',
    workflow({ arguments: { q: '{{.steps.none.output}}' } }, { condition: '{{' }),
    [
      'spec.steps[1].condition: an action has no end (line 1, column 3 of the template); close it with }}',
      'spec.steps[0].arguments.q: no step has the id "none"; name a step of this workflow',
    ],
  ],
  [
    'VirtualMCPCompositeToolDefinition',
    'a step that waits for nobody',
    workflow({ dependsOn: ['nobody'] }),
    ['spec.steps[0].dependsOn[0]: no step has the id "nobody"; name a step of this workflow'],
  ],
  [
    'VirtualMCPCompositeToolDefinition',
    'a type that no property has, two levels deeper than the CRD can say',
    {
      ...workflow({}),
      output: { properties: { a: { type: 'object', properties: { b: { properties: { c: { type: 'date' } } } } } } },
    },
    [
      'spec.output.properties.a.properties.b.properties.c.type: "date" is not a known value; write string or integer or number or boolean or object or array',
    ],
  ],
  [
    'MCPServerEntry',
    'a line break in a header',
    entry({ addPlaintextHeaders: { 'X-Team': 'a\nb' } }),
    [
      'spec.headerForward.addPlaintextHeaders["X-Team"]: the value of X-Team has characters that no header has; remove line breaks and the like',
    ],
  ],
];

/** A rule of servers, which look at what they name. */
const server = (more: object) => ({ groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...more });

export const refusedServers: readonly Refused[] = [
  [
    'VirtualMCPServer',
    'a backend with a metadata address',
    server({
      outgoingAuth: { source: 'inline' },
      config: { backends: [{ name: 'a', url: 'http://169.254.169.254/mcp', transport: 'streamable-http' }] },
    }),
    ['spec.config.backends[0].url: is a link-local or metadata address; name the address of the MCP server'],
  ],
  [
    'VirtualMCPServer',
    'an annotation of its Service with a key that is none',
    server({ config: { extensions: { service: { annotations: { 'a/b/c': 'd' } } } } }),
    [
      'spec.config.extensions.service.annotations["a/b/c"]: not a key of an annotation; write up to 63 letters, digits, -, _ and ., maybe behind a DNS domain and a slash, such as example.com/team',
    ],
  ],
];

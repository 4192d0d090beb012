/** Kind, name and spec of an object of ours; `{}` for one whose content is its own (a Secret, a ConfigMap). */
export type Made = readonly [kind: string, name: string, spec: object];

/**
 * An object that refers to others: what it names, and what status says while these are missing and when they are there.
 */
export interface Row {
  readonly referrer: Made;
  /** Everything of one kind that it names, as first made and as changed. */
  readonly targets: readonly Target[];
  /** Beginning of the condition `…Resolved` and of its reasons. */
  readonly subject: string;
  /** While a target is missing that was never there; after it was there and was deleted. */
  readonly phases: { readonly missing?: string; readonly found?: string; readonly deleted?: string };
  /** The server whose pods are told of the targets; absent where only status tells. */
  readonly server?: string;
  /** What its pods are told after a target was deleted: what they were told before, or no more of the backend. */
  readonly afterwards?: 'kept' | 'withheld';
}

export interface Target {
  readonly made: Made;
  readonly changed: object;
}

export const group = { groupRef: { name: 'tools' } };
export const anonymous = { ...group, incomingAuth: { type: 'anonymous' } };
export const remote = { ...group, remoteUrl: 'https://tools.example.com/mcp', transport: 'streamable-http' };
export const secret = (name: string): Target => ({ made: ['Secret', name, { key: 'one' }], changed: { key: 'two' } });
export const configMap = (name: string, key: string, one: string, two: string): Target => ({
  made: ['ConfigMap', name, { [key]: one }],
  changed: { [key]: two },
});
export const key = (name: string) => ({ name, key: 'key' });
export const ca = (name: string) => ({ caBundleRef: { configMapRef: { name, key: 'ca.crt' } } });
export const authority = (name: string) => configMap(name, 'ca.crt', 'one', 'two');
export const policy = (effect: string): string =>
  JSON.stringify({
    version: '1.0',
    type: 'cedarv1',
    cedar: { policies: [`${effect}(principal, action, resource);`] },
  });
export const issuer = (host: string) => ({ type: 'inline', inline: { issuer: `https://${host}.example.com` } });
export const workflow = (tool: string) => ({ name: 'flow', steps: [{ id: 'a', type: 'tool', tool }] });

export const header = (headerName: string) => ({
  type: 'headerInjection',
  headerInjection: { headerName, valueSecretRef: key('header-value') },
});
export const authConfig = (name: string): Target => ({
  made: ['MCPExternalAuthConfig', name, header('X-One')],
  changed: header('X-Two'),
});

export const authServer = (name: string) => ({
  issuer: 'https://shared.example.com',
  signingKeySecretRefs: [key(`${name}-signing`)],
  hmacSecretRefs: [key(`${name}-hmac`)],
  storage: {
    type: 'kvstore',
    kvstore: {
      aclUserConfig: { usernameSecretRef: key(`${name}-user`), passwordSecretRef: key(`${name}-password`) },
      tls: { caCertSecretRef: key(`${name}-ca`) },
      sentinelTls: { caCertSecretRef: key(`${name}-sentinel-ca`) },
      sentinelConfig: { masterName: 'main', sentinelService: { name: 'sentinel' } },
    },
  },
  upstreamProviders: [
    {
      name: 'corp',
      type: 'oidc',
      oidcConfig: { issuerUrl: 'https://corp.example.com', clientId: 'a', clientSecretRef: key(`${name}-oidc`) },
    },
    {
      name: 'code',
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: 'https://code.example.com/authorize',
        tokenEndpoint: 'https://code.example.com/token',
        clientId: 'a',
        clientSecretRef: key(`${name}-oauth2`),
      },
    },
    {
      name: 'dynamic',
      type: 'oauth2',
      oauth2Config: {
        dcrConfig: { discoveryUrl: 'https://dynamic.example.com/meta', initialAccessTokenRef: key(`${name}-dcr`) },
      },
    },
  ],
});
export const secretsOf = (name: string): readonly Target[] =>
  ['signing', 'hmac', 'user', 'password', 'ca', 'sentinel-ca', 'oidc', 'oauth2', 'dcr'].map((purpose) =>
    secret(`${name}-${purpose}`),
  );

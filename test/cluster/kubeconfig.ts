/** A kubeconfig for one server and one bearer token; JSON, which every YAML reader takes. */
export const kubeconfig = (access: { readonly url: string; readonly caFile: string; readonly token: string }): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: access.url, 'certificate-authority': access.caFile } }],
    users: [{ name: 'test', user: { token: access.token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });

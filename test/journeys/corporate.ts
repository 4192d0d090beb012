import { readFile } from 'node:fs/promises';
import { type TestCertificates, testCertificates } from '../fixtures/certificates.ts';
import { type IdentityProvider, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { resource } from './callers.ts';

/** An identity provider on the host, whose certificate only `certificates` vouch for. */
export interface Corporate {
  readonly provider: IdentityProvider;
  readonly certificates: TestCertificates;
  /** The certificate and its key, for other servers of the host. */
  readonly tls: { readonly key: string; readonly cert: string };
  readonly close: () => Promise<void>;
}

/** `otherNames`: DNS names that the certificate is for, too. */
export const startCorporate = async (address: string, otherNames: readonly string[] = []): Promise<Corporate> => {
  const certificates = await testCertificates(address, otherNames);
  const tls = {
    key: await readFile(certificates.keyFile, 'utf8'),
    cert: await readFile(certificates.certificateFile, 'utf8'),
  };
  const provider = await startIdentityProvider({
    address,
    tls,
    audience: 'search',
    client: { id: 'search-client', secret: 'first' },
  });
  const close = async (): Promise<void> => {
    await provider.close();
    await certificates.remove();
  };
  return { provider, certificates, tls, close };
};

/** The Secret of the gateway as a client of the provider. */
export const clientSecret = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'client' },
  stringData: { secret: value },
});

/** MCPOIDCConfig `corporate`, with what it names. */
export const corporateConfig = async ({ provider, certificates }: Corporate): Promise<readonly object[]> => [
  resource('MCPOIDCConfig', 'corporate', {
    type: 'inline',
    inline: {
      issuer: provider.issuer,
      clientId: 'search-client',
      clientSecretRef: { name: 'client', key: 'secret' },
      caBundleRef: { configMapRef: { name: 'authorities', key: 'ca.pem' } },
      jwksAllowPrivateIP: true,
    },
  }),
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'authorities' },
    data: { 'ca.pem': await readFile(certificates.caFile, 'utf8') },
  },
  clientSecret('first'),
];

import { readFile } from 'node:fs/promises';
import { type TestCertificates, testCertificates } from '../fixtures/certificates.ts';
import { type IdentityProvider, startIdentityProvider } from '../fixtures/identity-provider.ts';
import { resource } from './callers.ts';

/** An identity provider on the host, whose certificate only `certificates` vouch for. */
export interface Corporate {
  readonly provider: IdentityProvider;
  readonly certificates: TestCertificates;
  readonly close: () => Promise<void>;
}

export const startCorporate = async (address: string): Promise<Corporate> => {
  const certificates = await testCertificates(address);
  const provider = await startIdentityProvider({
    address,
    tls: {
      key: await readFile(certificates.keyFile, 'utf8'),
      cert: await readFile(certificates.certificateFile, 'utf8'),
    },
    audience: 'search',
    client: { id: 'search-client', secret: 'first' },
  });
  const close = async (): Promise<void> => {
    await provider.close();
    await certificates.remove();
  };
  return { provider, certificates, close };
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

import { X509Certificate } from 'node:crypto';
import { buildConnector } from 'undici';

/** A file with the certificates (PEM) of the authorities that a server's certificate is verified against. */
export interface BundleFile {
  readonly path: string;
  readonly readFile: (path: string) => Promise<string>;
}

/**
 * Makes the error for a file that cannot be used. `what` says why and what to do, as a predicate of the setting that
 * names the file.
 */
export type UnusableBundle = (what: string, cause?: unknown) => Error;

/** A ConfigMap or a Secret holds no more. */
const MAX_CHARACTERS = 1024 * 1024;

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Makes TLS connections whose certificate only an authority of the file may have signed. The system's authorities are
 * not trusted in addition, as everywhere where a CA file is named (curl --cacert, kubeconfig,
 * `extensions.sessionStore.tls.caFile`): a server that is pinned to a private authority would otherwise be any server
 * with a public certificate. The file is read for every new connection, so that it can rotate.
 */
export const bundleConnector = (
  options: buildConnector.BuildOptions,
  file: BundleFile,
  unusable: UnusableBundle,
): buildConnector.connector => {
  let known: { readonly text: string; readonly connect: buildConnector.connector } | undefined;
  let reading: Promise<string> | undefined;
  const connectorOf = async (): Promise<buildConnector.connector> => {
    // Connections that are opened at the same time share one read.
    reading ??= textOf(file, unusable).finally(() => {
      reading = undefined;
    });
    const text = await reading;
    // A new connector for each bundle, so that no TLS session that another bundle accepted is resumed.
    if (known?.text !== text) {
      // Whatever the bundle holds is trusted, an intermediate authority without its root as well.
      const trust = { ca: certificatesIn(text, unusable), allowPartialTrustChain: true };
      known = { text, connect: buildConnector({ ...options, ...trust }) };
    }
    return known.connect;
  };
  const connect = async (to: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    try {
      const verified = await connectorOf();
      verified(to, callback);
    } catch (error) {
      callback(error instanceof Error ? error : unusable('cannot be used', error), null);
    }
  };
  return (to, callback) => void connect(to, callback);
};

const textOf = async ({ path, readFile }: BundleFile, unusable: UnusableBundle): Promise<string> => {
  try {
    return await readFile(path);
  } catch (error) {
    throw unusable('names a file that cannot be read: mount it', error);
  }
};

/** Node ignores invalid certificates silently, and uses its own authorities when none is left. */
const certificatesIn = (text: string, unusable: UnusableBundle): string[] => {
  if (text.length > MAX_CHARACTERS) throw unusable('names a file of more than 1 MiB: keep certificates only');
  const certificates = text.match(PEM) ?? [];
  if (certificates.length === 0) throw unusable('names a file without certificates: write them there as PEM');
  for (const [index, certificate] of certificates.entries()) {
    try {
      void new X509Certificate(certificate);
    } catch (error) {
      throw unusable(`names a file whose certificate number ${index + 1} cannot be read: mend it`, error);
    }
  }
  return certificates;
};

import { X509Certificate } from 'node:crypto';
import { buildConnector } from 'undici';
import { asVmcpError, VmcpError } from '../errors.ts';

export interface CaBundle {
  /** Names the backend in errors. */
  readonly backend: string;
  readonly path: string;
  readonly readFile: (path: string) => Promise<string>;
}

/** Of the backend with these settings, where it has one. */
export const bundleOf = (
  { name, caBundlePath: path }: { readonly name: string; readonly caBundlePath?: string | undefined },
  { readFile }: Pick<CaBundle, 'readFile'>,
): CaBundle | undefined => (path === undefined ? undefined : { backend: name, path, readFile });

/** A ConfigMap or a Secret holds no more. */
const MAX_CHARACTERS = 1024 * 1024;

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Makes connections whose certificate only an authority of the bundle may have signed: "the CA bundle that verifies the backend's
 * certificate" (spec: config.backends[].caBundlePath). The system's authorities do not count beside it, as everywhere where a CA file
 * is named (curl --cacert, kubeconfig, `extensions.sessionStore.tls.caFile`): a server that is pinned to a private authority would
 * otherwise be any server with a public certificate. The file is read for every new connection, so that it can rotate.
 */
export const bundleConnector = (
  options: buildConnector.BuildOptions,
  bundle: CaBundle,
): ((options: buildConnector.Options, callback: buildConnector.Callback) => void) => {
  let known: { readonly text: string; readonly connect: buildConnector.connector } | undefined;
  let reading: Promise<string> | undefined;
  const connectorOf = async (): Promise<buildConnector.connector> => {
    // Many connections may be wanted at once.
    reading ??= readBundle(bundle).finally(() => {
      reading = undefined;
    });
    const text = await reading;
    // A connector of its own remembers no TLS session that another bundle has let in.
    if (known?.text !== text) {
      const ca = authoritiesIn(bundle, text);
      // Whatever the bundle holds is trusted, an intermediate authority without its root as well.
      known = { text, connect: buildConnector({ ...options, ca, allowPartialTrustChain: true }) };
    }
    return known.connect;
  };
  const connect = async (to: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    try {
      const verified = await connectorOf();
      verified(to, callback);
    } catch (error) {
      callback(asVmcpError(error), null);
    }
  };
  return (to, callback) => void connect(to, callback);
};

const readBundle = async (bundle: CaBundle): Promise<string> => {
  try {
    return await bundle.readFile(bundle.path);
  } catch (error) {
    throw unusable(bundle, 'names a file that cannot be read: mount it', error);
  }
};

/** Node takes certificates that are none without a word, and for none at all its own authorities. */
const authoritiesIn = (bundle: CaBundle, text: string): string[] => {
  if (text.length > MAX_CHARACTERS) throw unusable(bundle, 'names a file of more than 1 MiB: keep certificates only');
  const certificates = text.match(PEM) ?? [];
  if (certificates.length === 0) throw unusable(bundle, 'names a file without certificates: write them there as PEM');
  for (const [index, certificate] of certificates.entries()) {
    try {
      void new X509Certificate(certificate);
    } catch (error) {
      throw unusable(bundle, `names a file whose certificate number ${index + 1} cannot be read: mend it`, error);
    }
  }
  return certificates;
};

const unusable = ({ backend, path }: CaBundle, what: string, cause?: unknown): VmcpError => {
  const reason = cause instanceof Error && 'code' in cause ? `${String(cause.code)}: ` : '';
  return new VmcpError('backend_unreachable', `backend "${backend}" cannot be verified: caBundlePath ${what}`, {
    detail: `${reason}${path}`,
    ...(cause !== undefined && { cause }),
  });
};

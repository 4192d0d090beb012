import type { buildConnector } from 'undici';
import { bundleConnector } from '../bundle-connector.ts';
import { VmcpError } from '../errors.ts';

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

/**
 * Makes connections whose certificate only an authority of the bundle may have signed: "the CA bundle that verifies the backend's
 * certificate" (spec: config.backends[].caBundlePath).
 */
export const backendConnector = (
  options: buildConnector.BuildOptions,
  { backend, ...file }: CaBundle,
): buildConnector.connector =>
  bundleConnector(options, file, (what, cause) => {
    const reason = cause instanceof Error && 'code' in cause ? `${String(cause.code)}: ` : '';
    return new VmcpError('backend_unreachable', `backend "${backend}" cannot be verified: caBundlePath ${what}`, {
      detail: `${reason}${file.path}`,
      ...(cause !== undefined && { cause }),
    });
  });

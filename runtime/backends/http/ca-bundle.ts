import type { buildConnector } from 'undici';
import { bundleConnector } from '../../http/index.ts';
import { VmcpError } from '../../errors.ts';

/** The CA bundle of one backend. */
export interface CaBundle {
  /** Names the backend in errors. */
  readonly backend: string;
  readonly path: string;
  readonly readFile: (path: string) => Promise<string>;
}

/** The CA bundle of the backend with these settings; undefined where it has none. */
export const bundleOf = (
  { name, caBundlePath: path }: { readonly name: string; readonly caBundlePath?: string | undefined },
  { readFile }: Pick<CaBundle, 'readFile'>,
): CaBundle | undefined => (path === undefined ? undefined : { backend: name, path, readFile });

/**
 * Makes connections whose certificate only an authority of the bundle may have signed: "the CA bundle that verifies the
 * backend's certificate" (`caBundlePath` of docs/configuration.md "backends").
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

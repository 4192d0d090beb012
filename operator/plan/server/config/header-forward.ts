import type { SpecOf } from '../../../../crds/index.ts';
import type { HeaderForward } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import { secretPath } from '../objects/mounted-files.ts';

/** `spec.headerForward` of an MCPServerEntry or MCPRemoteProxy. */
export type WrittenHeaderForward = NonNullable<SpecOf<'MCPServerEntry'>['headerForward']>;

/** The same as the file spells it. */
export const headerForward = (written: WrittenHeaderForward, settings: Settings): HeaderForward => {
  const { addPlaintextHeaders: plaintext, addHeadersFromSecret = [] } = written;
  const files = addHeadersFromSecret.map(({ headerName, valueSecretRef }) => [
    headerName,
    secretPath(valueSecretRef, settings),
  ]);
  return { ...(plaintext && { plaintext }), ...(files.length > 0 && { secretFiles: Object.fromEntries(files) }) };
};

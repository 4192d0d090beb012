import type { Settings } from '../settings.ts';
import { type KeyRef, secretPath } from './mounted-files.ts';
import type { HeaderForward } from './spec.ts';

/** `spec.headerForward` of an MCPServerEntry or MCPRemoteProxy. */
export interface WrittenHeaderForward {
  readonly addPlaintextHeaders?: Readonly<Record<string, string>>;
  readonly addHeadersFromSecret?: readonly { readonly headerName: string; readonly valueSecretRef: KeyRef }[];
}

/** The same as the file spells it. */
export const headerForward = (written: WrittenHeaderForward, settings: Settings): HeaderForward => {
  const { addPlaintextHeaders: plaintext, addHeadersFromSecret = [] } = written;
  const files = addHeadersFromSecret.map(({ headerName, valueSecretRef }) => [
    headerName,
    secretPath(valueSecretRef, settings),
  ]);
  return { ...(plaintext && { plaintext }), ...(files.length > 0 && { secretFiles: Object.fromEntries(files) }) };
};

import type { KubeObject } from '../object.ts';

type Status = Readonly<Record<string, unknown>>;

const extensionsIn = (status: unknown): Status => ((status ?? {}) as { readonly extensions?: Status }).extensions ?? {};

/** Generation of the spec that was accepted last, from the status, which the operator alone writes. */
export const acceptedGenerationOf = ({ status }: KubeObject): number | undefined => {
  const { acceptedGeneration } = extensionsIn(status);
  return typeof acceptedGeneration === 'number' ? acceptedGeneration : undefined;
};

/** The status with that generation; unchanged where none was accepted. */
export const withAcceptedGeneration = (status: Status, acceptedGeneration: number | undefined): Status =>
  acceptedGeneration === undefined
    ? status
    : { ...status, extensions: { ...extensionsIn(status), acceptedGeneration } };

import type { KubeObject } from '../object.ts';

type Status = Readonly<Record<string, unknown>>;

const extensionsIn = (status: unknown): Status => ((status ?? {}) as { readonly extensions?: Status }).extensions ?? {};

/** Of the spec that was accepted last, as status tells: the operator alone writes that. */
export const acceptedGenerationOf = ({ status }: KubeObject): number | undefined => {
  const { acceptedGeneration } = extensionsIn(status);
  return typeof acceptedGeneration === 'number' ? acceptedGeneration : undefined;
};

export const withAcceptedGeneration = (status: Status, acceptedGeneration: number | undefined): Status =>
  acceptedGeneration === undefined
    ? status
    : { ...status, extensions: { ...extensionsIn(status), acceptedGeneration } };

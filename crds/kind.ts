import type * as z from 'zod';

export interface PrinterColumn {
  readonly name: string;
  /** JSON path into the object. */
  readonly path: string;
  /** Default `string`. */
  readonly type?: 'integer' | 'date' | 'boolean';
  /** Only with `-o wide`. */
  readonly wide?: boolean;
}

/** Everything known about one kind; the CRD, the validation and the reference walk follow from it. */
export interface KindDefinition<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  /** Most characters of `metadata.name`: child objects get it with a prefix. */
  readonly nameMaxLength: number;
  readonly specIsOptional: boolean;
  readonly spec: Spec;
  readonly status: Status;
  readonly columns: readonly PrinterColumn[];
  /** For `kubectl scale` and autoscalers; absent: nothing to scale. */
  readonly scale?: ScalePaths;
}

/** Kubernetes: paths of the `scale` subresource. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** Of the text by which an autoscaler finds the pods. */
  readonly labelSelectorPath: string;
}

type Defaulted = 'singular' | 'nameMaxLength' | 'specIsOptional';

/** docs/decisions.md "Names of resources" */
const NAME_MAX_LENGTH = 40;

export const defineKind = <Spec extends z.ZodType, Status extends z.ZodType>(
  parts: Omit<KindDefinition<Spec, Status>, Defaulted> & Partial<Pick<KindDefinition, Defaulted>>,
): KindDefinition<Spec, Status> => ({
  singular: parts.kind.toLowerCase(),
  nameMaxLength: NAME_MAX_LENGTH,
  specIsOptional: false,
  ...parts,
});

export const VALID_COLUMN: PrinterColumn = {
  name: 'Valid',
  path: ".status.conditions[?(@.type=='Valid')].status",
};
export const READY_COLUMN: PrinterColumn = {
  name: 'Ready',
  path: ".status.conditions[?(@.type=='Ready')].status",
};
export const AGE_COLUMN: PrinterColumn = { name: 'Age', path: '.metadata.creationTimestamp', type: 'date' };
export const REFERENCES_COLUMN: PrinterColumn = {
  name: 'References',
  path: '.status.referenceCount',
  type: 'integer',
};

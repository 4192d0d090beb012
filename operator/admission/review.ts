import { z } from 'zod';
import type { ResourceProblem } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';
import { violationText } from '../validate/index.ts';

/** The request of an AdmissionReview: one change before it is stored. */
export interface Review {
  readonly uid: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  /** Absent for DELETE. */
  readonly object?: KubeObject;
  /** Absent for CREATE. */
  readonly oldObject?: KubeObject;
}

/** `warnings` are shown by kubectl, whether the change is refused or not. */
export interface Verdict {
  readonly refusal?: Refusal;
  readonly warnings: readonly string[];
}

export interface Refusal {
  /** What `kubectl` prints. */
  readonly message: string;
  readonly code: 403 | 422;
  /** Where the object breaks rules; empty when something else speaks against the change. */
  readonly causes: readonly ResourceProblem[];
}

export const accepted: Verdict = Object.freeze({ warnings: [] });

const object = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().default(''), namespace: z.string().optional() }),
});

const requestSchema = z.looseObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: z.looseObject({
    uid: z.string().min(1),
    operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
    object: object.nullish(),
    oldObject: object.nullish(),
  }),
});

/** Undefined for anything that is no AdmissionReview of `admission.k8s.io/v1`. */
export const reviewIn = (body: unknown): Review | undefined => {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) return undefined;
  const { uid, operation, object: changed, oldObject } = parsed.data.request;
  return {
    uid,
    operation,
    ...(changed === null || changed === undefined ? {} : { object: changed as KubeObject }),
    ...(oldObject === null || oldObject === undefined ? {} : { oldObject: oldObject as KubeObject }),
  };
};

/** The answer in the form that `admission.k8s.io/v1` wants. */
export const responseTo = ({ uid, object: changed, oldObject }: Review, { refusal, warnings }: Verdict): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: {
    uid,
    allowed: refusal === undefined,
    ...(refusal === undefined ? {} : { status: statusOf(refusal, changed ?? oldObject) }),
    ...(warnings.length === 0 ? {} : { warnings }),
  },
});

const statusOf = ({ code, message, causes }: Refusal, about: KubeObject | undefined): object => ({
  apiVersion: 'v1',
  kind: 'Status',
  status: 'Failure',
  code,
  reason: code === 422 ? 'Invalid' : 'Forbidden',
  message,
  ...(causes.length > 0 && {
    details: {
      name: about?.metadata.name,
      group: about?.apiVersion.split('/')[0],
      kind: about?.kind,
      causes: causes.map(({ path, reason, remedy }) => ({
        reason: 'FieldValueInvalid',
        field: path,
        message: `${reason}; ${remedy}`,
      })),
    },
  }),
});

/**
 * An object that breaks rules, with every path, reason and remedy: what its condition `Valid` says without a webhook.
 */
export const invalid = ({ kind, metadata }: KubeObject, problems: readonly ResourceProblem[]): Refusal => ({
  message: `${kind} ${metadata.name}: ${problems.map(violationText).join('; ')}`,
  code: 422,
  causes: problems,
});

export const forbidden = (message: string): Refusal => ({ message, code: 403, causes: [] });

import * as z from 'zod';
import { hasItsType, rule, withRules } from './rules.ts';

/** Labels that the operator puts on its objects, and selects them by. */
const OWN_LABELS = ['name', 'instance', 'managed-by', 'component'].map((word) => `app.kubernetes.io/${word}`);
const OWN_PREFIX = 'vmcp.dev/';
/** The annotation of `kubectl apply`; comparisons ignore it. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const MOST_ENTRIES = 64;
/** Kubernetes allows 256 KiB for all annotations of an object; controllers write theirs beside these. */
const MOST_BYTES = 65_536;

type Texts = Readonly<Record<string, string>>;

const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/**
 * Kubernetes: qualified names, `example.com/team` or `team`. Lengths are checked first, to bound the cost of the
 * expressions.
 */
const isQualifiedName = (key: string): boolean => {
  const slash = key.indexOf('/');
  const [domain, name] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)];
  return name.length <= 63 && NAME.test(name) && (slash < 0 || (domain.length <= 253 && DOMAIN.test(domain)));
};

const keySchema = (what: string, isKey: (key: string) => boolean) =>
  z.string().refine(isKey, {
    error: `not a key of ${what}; write up to 63 letters, digits, -, _ and ., maybe behind a DNS domain and a slash, such as example.com/team`,
  });

const labelValueSchema = z
  .string()
  .max(63)
  .regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/, {
    error: 'not a value of a label; use letters, digits, and inner -, _ and .',
  });

const labelsSchema = withRules(
  z.record(keySchema('a label', isQualifiedName), labelValueSchema).meta({ maxProperties: MOST_ENTRIES }),
  rule<Texts>({
    cel: `self.all(key, !key.startsWith('${OWN_PREFIX}') && !(key in ['${OWN_LABELS.join("', '")}']))`,
    holds: (labels) => Object.keys(labels).every((key) => !key.startsWith(OWN_PREFIX) && !OWN_LABELS.includes(key)),
    reason: `${OWN_LABELS.join(', ')} and all labels of ${OWN_PREFIX} are the operator's`,
    remedy: 'give yours other keys',
  }),
);

/** Kubernetes checks the domain of annotation keys in lower case. */
const annotationKeySchema = keySchema('an annotation', (key) => isQualifiedName(key.toLowerCase()));

const annotationsSchema = withRules(
  z
    .record(annotationKeySchema, z.string().max(MOST_BYTES))
    .refine((annotations) => bytesOf(annotations) <= MOST_BYTES, {
      error: `must have at most ${MOST_BYTES} bytes in all, keys included; shorten the values, or remove some`,
      when: hasItsType,
    })
    .meta({ maxProperties: MOST_ENTRIES }),
  rule<Texts>({
    cel: `self.all(key, !key.startsWith('${OWN_PREFIX}') && key != '${LAST_APPLIED}')`,
    holds: (annotations) =>
      Object.keys(annotations).every((key) => !key.startsWith(OWN_PREFIX) && key !== LAST_APPLIED),
    reason: `all annotations of ${OWN_PREFIX} are the operator's, and ${LAST_APPLIED} is kubectl's`,
    remedy: 'give yours other keys',
  }),
);

const bytesOf = (texts: Texts): number =>
  Object.entries(texts).reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);

/** Labels and annotations that the operator adds to the Service of a server, for load balancers and DNS controllers. */
export const serviceMetadataSchema = z
  .strictObject({
    annotations: annotationsSchema
      .optional()
      .describe('Annotations, for load balancers, DNS controllers and the like.'),
    labels: labelsSchema.optional().describe("Labels, beside the operator's own, which stay as they are."),
  })
  .describe('Annotations and labels of the Service that the operator makes.');

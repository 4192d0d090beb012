import { rule } from '../runtime/config/index.ts';
import type { KindDefinition, PrinterColumn } from './kind.ts';
import type { SchemaNode } from './structural.ts';
import { bounded, structuralOf } from './structural.ts';

export const API_GROUP = 'vmcp.dev';
export const API_VERSION = `${API_GROUP}/v1beta1`;

/** The whole object: what every kind has, the legal names, and its own spec and status. */
export function objectSchema(definition: KindDefinition): SchemaNode {
  return {
    type: 'object',
    description: definition.description,
    properties: {
      apiVersion: { type: 'string', description: `Always ${API_VERSION}.` },
      kind: { type: 'string', description: `Always ${definition.kind}.` },
      metadata: {
        type: 'object',
        properties: { name: { type: 'string', minLength: 1 } },
        required: ['name'],
        preserveUnknownFields: true,
      },
      spec: { ...bounded(structuralOf(definition.spec)), description: 'What is wanted.' },
      // The default gives an object its first phase before the operator has reconciled it.
      status: { ...structuralOf(definition.status), description: 'What is; written by the operator.', default: {} },
    },
    required: definition.specIsOptional ? ['metadata'] : ['metadata', 'spec'],
    rules: [nameRule(definition)],
  };
}

/**
 * `kubectl get vmcp-all` lists every kind. Not `vmcp`: kubectl takes a category before a short name, and `kubectl
 * delete vmcp --all` would take groups along.
 */
const CATEGORY = 'vmcp-all';

interface Named {
  readonly metadata: { readonly name: string };
}

/**
 * Child objects are named after the object, so its name must fit in theirs (docs/decisions.md "Names of resources").
 */
function nameRule({ nameMaxLength }: KindDefinition) {
  const pattern = '^[a-z]([-a-z0-9]*[a-z0-9])?$';
  return rule<Named>({
    cel: `self.metadata.name.size() <= ${nameMaxLength} && self.metadata.name.matches('${pattern}')`,
    holds: ({ metadata: { name } }) => name.length <= nameMaxLength && new RegExp(pattern, 'u').test(name),
    field: 'metadata.name',
    reason: 'does not fit the names of the objects made from it',
    remedy: `use at most ${nameMaxLength} lower-case letters, digits and inner hyphens, beginning with a letter`,
  });
}

/** The CustomResourceDefinition as plain JSON. */
export function crdOf(definition: KindDefinition) {
  const { kind, plural, singular, shortNames, columns, scale } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${API_GROUP}` },
    spec: {
      group: API_GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: [CATEGORY] },
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: true,
          additionalPrinterColumns: columns.map(columnOf),
          subresources: { status: {}, ...(scale && { scale }) },
          schema: { openAPIV3Schema: rootOf(definition) },
        },
      ],
    },
  };
}

/** `metadata` belongs to the API server; a CRD may say nothing about it but that it is there. */
function rootOf(definition: KindDefinition) {
  const { properties, required, ...root } = objectSchema(definition);
  const { metadata: _, ...rest } = properties ?? {};
  const metadata = { type: 'object', properties: { name: { type: 'string' } } } as const;
  const schema = openApi({ ...root, properties: { ...rest, metadata } }, 1);
  return { ...schema, required: required?.filter((name) => name !== 'metadata') };
}

function columnOf({ name, path, type, wide = false }: PrinterColumn) {
  return { name, type: type ?? 'string', jsonPath: path, ...(wide ? { priority: 1 } : {}) };
}

/**
 * The tree without what only this program reads. `occurrences`: how often the value can be there at most as far as the
 * schema says, which decides what its rules may cost.
 */
function openApi(node: SchemaNode, occurrences: number): Readonly<Record<string, unknown>> {
  const {
    refersTo: _,
    patternMessage: _message,
    rules: _rules,
    notYet: _notYet,
    preserveUnknownFields,
    ...rest
  } = node;
  const { properties, additionalProperties, items, listType, listKeys, ...words } = rest;
  const validations = validationsOf(node, occurrences);
  return {
    ...words,
    ...(properties === undefined ? {} : { properties: mapped(properties, occurrences) }),
    ...(additionalProperties && {
      additionalProperties: openApi(additionalProperties, occurrences * (node.maxProperties ?? Infinity)),
    }),
    ...(items && { items: openApi(items, occurrences * (node.maxItems ?? Infinity)) }),
    ...(preserveUnknownFields === undefined ? {} : { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(listType === undefined ? {} : { 'x-kubernetes-list-type': listType }),
    ...(listKeys === undefined ? {} : { 'x-kubernetes-list-map-keys': listKeys }),
    ...(validations.length === 0 ? {} : { 'x-kubernetes-validations': validations }),
  };
}

function mapped(properties: Readonly<Record<string, SchemaNode>>, occurrences: number) {
  return Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, openApi(node, occurrences)]));
}

interface Validation {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/**
 * The rules of one value. A pattern alone is refused in its own, unreadable words, so a rule beside it says what to
 * write; the other rules may then rely on it. Both only where it is cheap enough: the API server limits what all rules
 * may cost.
 */
function validationsOf(node: SchemaNode, occurrences: number): readonly Validation[] {
  const { pattern, patternMessage, maxLength, rules = [] } = node;
  const isAffordable = matchCost(pattern, maxLength) * occurrences <= MATCH_BUDGET;
  const matches = pattern === undefined || !isAffordable ? undefined : `self.matches(${literal(pattern)})`;
  return [
    ...(matches === undefined || patternMessage === undefined ? [] : [{ rule: matches, message: patternMessage }]),
    ...rules.map(({ cel, message, field }) => ({
      rule: matches === undefined ? cel : `!${matches} || ${cel}`,
      message,
      ...(field === undefined ? {} : { fieldPath: `.${field}` }),
    })),
  ];
}

/** Of the 10,000,000 units one rule may cost at most. */
const MATCH_BUDGET = 2_000_000;

/** As the API server estimates it: a tenth of the text times a quarter of the pattern. */
const matchCost = (pattern = '', maxLength = Infinity): number =>
  Math.ceil(maxLength * 0.1) * Math.ceil(pattern.length * 0.25);

/** A raw string of CEL. */
const literal = (text: string): string => (text.includes("'") ? `r"${text}"` : `r'${text}'`);

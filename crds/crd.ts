import { rule } from '../runtime/config/index.ts';
import type { KindDefinition, PrinterColumn } from './kind.ts';
import type { SchemaNode } from './structural.ts';
import { structuralOf } from './structural.ts';

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
      spec: { ...structuralOf(definition.spec), description: 'What is wanted.' },
      // The default makes an object that nobody has looked at yet show its first phase.
      status: { ...structuralOf(definition.status), description: 'What is; written by the operator.', default: {} },
    },
    required: definition.specIsOptional ? ['metadata'] : ['metadata', 'spec'],
    rules: [nameRule(definition)],
  };
}

/** `kubectl get vmcp-all` lists every kind. Not `vmcp`: kubectl takes a category before a short name, and `kubectl delete vmcp --all` would take groups along. */
const CATEGORY = 'vmcp-all';

interface Named {
  readonly metadata: { readonly name: string };
}

/** Child objects are named after the object, so its name must fit in theirs (decisions.md, "legal metadata.name"). */
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
  const { kind, plural, singular, shortNames, columns } = definition;
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
          subresources: { status: {} },
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
  const schema = openApi({
    ...root,
    properties: { ...rest, metadata: { type: 'object', properties: { name: { type: 'string' } } } },
  });
  return { ...schema, required: required?.filter((name) => name !== 'metadata') };
}

function columnOf({ name, path, type, wide = false }: PrinterColumn) {
  return { name, type: type ?? 'string', jsonPath: path, ...(wide ? { priority: 1 } : {}) };
}

/** The tree without what only this program reads. */
function openApi(node: SchemaNode): Readonly<Record<string, unknown>> {
  const { refersTo: _, properties, additionalProperties, items, rules, listType, listKeys, ...words } = node;
  const { preserveUnknownFields, ...plain } = words;
  return {
    ...plain,
    ...(properties === undefined ? {} : { properties: mapped(properties) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: openApi(additionalProperties) }),
    ...(items === undefined ? {} : { items: openApi(items) }),
    ...(preserveUnknownFields === undefined ? {} : { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(listType === undefined ? {} : { 'x-kubernetes-list-type': listType }),
    ...(listKeys === undefined ? {} : { 'x-kubernetes-list-map-keys': listKeys }),
    ...(rules === undefined ? {} : { 'x-kubernetes-validations': rules.map(validationOf) }),
  };
}

function mapped(properties: Readonly<Record<string, SchemaNode>>) {
  return Object.fromEntries(Object.entries(properties).map(([name, node]) => [name, openApi(node)]));
}

function validationOf({ cel, message, field }: NonNullable<SchemaNode['rules']>[number]) {
  return { rule: cel, message, ...(field === undefined ? {} : { fieldPath: `.${field}` }) };
}

import type { ApiAccess } from '../../cluster/index.ts';

interface Schema {
  readonly $ref?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
}

interface Strategy {
  readonly path: string;
  readonly key: string;
  readonly strategy: string;
}

/** Every strategy below PodTemplateSpec in the OpenAPI of the API server, by the path without indexes. */
export const servedStrategies = async ({ kubectl }: ApiAccess): Promise<readonly Strategy[]> => {
  const { definitions } = JSON.parse(await kubectl(['get', '--raw', '/openapi/v2'])) as {
    readonly definitions: Readonly<Record<string, Schema>>;
  };
  const walk = (name: string, path: string): readonly Strategy[] =>
    Object.entries(definitions[name]?.properties ?? {}).flatMap(([field, schema]) => {
      const here = path === '' ? field : `${path}.${field}`;
      const strategy = schema['x-kubernetes-patch-strategy'];
      const key = schema['x-kubernetes-patch-merge-key'] ?? '';
      const inner = definitionIn(schema);
      return [
        ...(strategy === undefined ? [] : [{ path: here, key, strategy }]),
        ...(inner === undefined ? [] : walk(inner, here)),
      ];
    });
  return walk('io.k8s.api.core.v1.PodTemplateSpec', '');
};

const definitionIn = (schema: Schema): string | undefined =>
  (schema.$ref ?? schema.items?.$ref ?? schema.additionalProperties?.$ref)?.replace('#/definitions/', '');

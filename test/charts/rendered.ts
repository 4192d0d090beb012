import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { PolicyRule } from '../../operator/api/rbac.ts';
import { helm } from '../cluster/index.ts';

export const CHART = join(import.meta.dirname, '..', '..', 'charts', 'vmcp-operator');

/** One object that the chart makes, as far as the tests look at it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  readonly rules?: readonly PolicyRule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly data?: Record<string, string>;
  readonly spec?: { readonly template: { readonly metadata: Rendered['metadata']; readonly spec: PodSpec } };
  readonly webhooks?: readonly Webhook[];
}

interface Webhook {
  readonly name: string;
  readonly failurePolicy: string;
  readonly timeoutSeconds: number;
  readonly sideEffects: string;
  readonly namespaceSelector?: object;
  readonly clientConfig: {
    readonly service: { readonly name: string; readonly namespace: string };
    readonly caBundle?: string;
  };
  readonly rules: readonly { readonly operations: readonly string[]; readonly resources: readonly string[] }[];
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly enableServiceLinks: boolean;
  readonly securityContext: object;
  readonly nodeSelector?: object;
  readonly topologySpreadConstraints?: readonly object[];
}

export interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
}

/** What Helm prints for these values (`a.b=c`), as a release `vmcp-operator` in namespace `vmcp-system`. */
export const renderText = (values: readonly string[], flag: '--set' | '--set-json' = '--set'): Promise<string> => {
  const sets = values.flatMap((value) => [flag, value]);
  return helm(['template', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', ...sets]);
};

export const objectsIn = (text: string): Rendered[] =>
  parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS() as Rendered]));

export const render = async (...values: readonly string[]): Promise<Rendered[]> => objectsIn(await renderText(values));

/** Values as JSON, for lists of maps. */
export const renderJson = async (...values: readonly string[]): Promise<Rendered[]> =>
  objectsIn(await renderText(values, '--set-json'));

export const one = (objects: readonly Rendered[], kind: string, name = 'vmcp-operator'): Rendered => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  assert.equal(found.length, 1, `one ${kind} ${name}`);
  return found[0] as Rendered;
};

/** Every single right, so that it does not matter how they are put together to rules. */
export const singleRights = (rules: Rendered['rules']): string[] =>
  (rules ?? [])
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    )
    .sort();

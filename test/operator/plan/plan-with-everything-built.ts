import assert from 'node:assert/strict';
import { parse } from 'yaml';
import type { KubeObject } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { planServer } from '../../../operator/plan/server/plan-server.ts';
import type { Settings } from '../../../operator/plan/settings.ts';
import { resolveServer } from '../../../operator/read/resolve.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { SERVER_KEY, availableDeployment, planned } from './plan-of-demo.ts';

/** What is planned for `demo` where the runtime can do all that is rendered for it. */
export const planWith = (settings: Partial<Settings>, ...objects: readonly KubeObject[]): Plan => {
  const all = { ...DEFAULT_SETTINGS, ...settings };
  const bundle = resolveServer(objectsSource(objects), SERVER_KEY, all.mac);
  assert.ok(bundle !== undefined);
  return planServer(bundle, { settings: all, contract: everythingBuilt() });
};

export const planOf = (...objects: readonly KubeObject[]): Plan => planWith({}, ...objects);

export const configMap = (name: string, data: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

interface ConfigYaml {
  readonly incomingAuth: { readonly oidc?: Readonly<Record<string, unknown>>; readonly authz?: object };
}

export const configOf = (plan: Plan): ConfigYaml =>
  parse((plan.config ?? plan.withheld)?.['config.yaml'] ?? '') as ConfigYaml;

export const idp = (more: object = {}): KubeObject =>
  made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://idp.example', ...more } });

export const oidc = (more: object = {}) => ({
  incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'demo' }, ...more },
});

export const authServerConfig = {
  issuer: 'https://idp.example',
  upstreamProviders: [{ name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example', clientId: 'g' } }],
};

/** What an operator sees after it has served `first`: its ConfigMap and Deployment. */
export const servedBefore = (first: Plan): readonly KubeObject[] => {
  const kept = planned(first, 'ConfigMap');
  const ownerReferences = (kept.metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: true }));
  const deployment = { ...availableDeployment, spec: planned(first, 'Deployment')['spec'] };
  return [deployment, { ...kept, metadata: { ...kept.metadata, ownerReferences } }];
};

import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../operator/object.ts';
import { type ApiAccess, helm } from '../../cluster/index.ts';

const CHART = join(import.meta.dirname, '../../../charts/vmcp-operator');

export const CONFIGURATION = 'vmcp-operator-webhook';

/** What takes a year otherwise takes a third of a minute. */
export const SHORT_LIFETIMES = { authorityMs: 16_000, serverMs: 8_000, propagationMs: 2_000 };

/** What the chart brings for the webhook. */
export const webhookOfChart = async (...values: readonly string[]): Promise<readonly KubeObject[]> => {
  const sets = values.flatMap((value) => ['--set', value]);
  const args = ['template', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', ...sets];
  const text = await helm([...args, '--show-only', 'templates/webhook.yaml']);
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
};

interface Webhook {
  readonly clientConfig: { readonly service?: { readonly path: string }; readonly [field: string]: unknown };
}

/**
 * The chart's webhook for an operator on this machine: there is no network of pods, so it has an address in place of a
 * Service.
 */
export const installWebhook = async (
  cluster: ApiAccess,
  port: number,
  values: readonly string[] = [],
): Promise<void> => {
  const isConfiguration = ({ kind }: KubeObject): boolean => kind === 'ValidatingWebhookConfiguration';
  const configurations = (await webhookOfChart(...values)).filter(isConfiguration);
  // The operator of the tests looks after all namespaces, whatever the webhook is asked about.
  const rights = (await webhookOfChart()).filter((each) => !isConfiguration(each));
  const items = [...rights, ...configurations.map((each) => ({ ...each, webhooks: webhooksAt(each, port) }))];
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await cluster.kubectl(['apply', '--server-side', '--field-manager', 'helm', '-f', '-'], list);
};

/** Whom the API server trusts when it calls the webhooks; of each of them, with a space between. */
export const trustedBy = ({ kubectl }: ApiAccess): Promise<string> => {
  const path = 'jsonpath={.webhooks[*].clientConfig.caBundle}';
  return kubectl(['get', 'validatingwebhookconfiguration', CONFIGURATION, '--output', path]);
};

const webhooksAt = (configuration: KubeObject, port: number): readonly Webhook[] =>
  (configuration['webhooks'] as readonly Webhook[]).map(({ clientConfig: { service, ...rest }, ...webhook }) => ({
    ...webhook,
    clientConfig: { ...rest, url: `https://127.0.0.1:${port}${service?.path ?? ''}` },
  }));

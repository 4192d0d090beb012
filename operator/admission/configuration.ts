import type { KubeObject, ObjectKey } from '../object.ts';

/** A ValidatingWebhookConfiguration, as far as it is read here. */
interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly service?: { readonly namespace: string; readonly name: string };
    readonly url?: string;
    /** Base64 of PEM. */
    readonly caBundle?: string;
  };
}

export const configurationKey = (name: string): ObjectKey => ({
  kind: 'ValidatingWebhookConfiguration',
  namespace: '',
  name,
});

const webhooksOf = (configuration: KubeObject): readonly Webhook[] =>
  (configuration['webhooks'] ?? []) as readonly Webhook[];

/** Host names and addresses under which the API server connects to the webhook. */
export const hostsOf = (configuration: KubeObject): readonly string[] => [
  ...new Set(
    webhooksOf(configuration).map(({ clientConfig: { service, url = '' } }) =>
      service === undefined ? hostIn(url) : `${service.name}.${service.namespace}.svc`,
    ),
  ),
];

/** A URL has an IPv6 address in brackets. */
const hostIn = (url: string): string => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');

/** PEM of what the API server trusts in every one of its webhooks. */
export const trustedBy = (configuration: KubeObject): string => {
  const [first, ...rest] = webhooksOf(configuration).map(({ clientConfig }) => clientConfig.caBundle ?? '');
  return first === undefined || rest.some((bundle) => bundle !== first) ? '' : decoded(first);
};

const decoded = (bundle: string): string => Buffer.from(bundle, 'base64').toString('utf8');

/**
 * The object to apply so that the API server trusts this bundle; undefined when it trusts it already. It names nothing
 * but the bundle, since the rest belongs to the chart, and the version that was read, so that a bundle of another
 * replica is not overwritten.
 */
export const trusting = (configuration: KubeObject, bundle: string): KubeObject | undefined => {
  const webhooks = webhooksOf(configuration);
  const caBundle = Buffer.from(bundle).toString('base64');
  if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return undefined;
  const { apiVersion, kind, metadata } = configuration;
  const { name, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    webhooks: webhooks.map((webhook) => ({ name: webhook.name, clientConfig: { caBundle } })),
  };
};

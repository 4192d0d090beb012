import type { ReconciledKind } from '../../../operator/kinds/kind.ts';
import { keyOf } from '../../../operator/object.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { hashOf } from '../../../operator/plan/canonical.ts';

/** A kind for tests of the engine alone: one of each child, a reference, a status. Its CRD is `widgetCrd`. */
interface WidgetSpec {
  readonly greeting: string;
  readonly replicas?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Number of the ConfigMap: another one means another ConfigMap, mounted by a new pod template. */
  readonly revision?: number;
  /** Name of a ConfigMap whose data is counted in the status. */
  readonly inputRef?: string;
  readonly servicePort?: number;
}

interface WidgetBundle {
  readonly widget: KubeObject;
  readonly spec: WidgetSpec;
  readonly input: KubeObject | undefined;
  readonly deployment: KubeObject | undefined;
}

export const widgetResource = { kind: 'Widget', apiVersion: 'test.vmcp.dev/v1', plural: 'widgets' };

const specOf = (widget: KubeObject): WidgetSpec => widget['spec'] as WidgetSpec;

export const widgetKind: ReconciledKind<WidgetBundle> = {
  kind: 'Widget',
  owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
  reads: ['ReplicaSet', 'Pod'],
  volatileStatus: () => new Map([['checkedAt', 0]]),
  resolve: (source, key) => {
    const widget = source.get('Widget', key.namespace, key.name);
    if (widget === undefined) {
      return undefined;
    }
    const { inputRef } = specOf(widget);
    const input = inputRef === undefined ? undefined : source.get('ConfigMap', key.namespace, inputRef);
    const deployment = source.get('Deployment', key.namespace, `widget-${key.name}`);
    return { widget, spec: specOf(widget), input, deployment };
  },
  // It is mounted by no pod, so that only its outline is held.
  complete: async (bundle, { content }) => ({ ...bundle, input: bundle.input && (await content(bundle.input)) }),
  plan: (bundle): Plan => ({
    objects: childrenOf(bundle),
    status: statusOf(bundle),
    events: [
      {
        type: 'Normal',
        reason: bundle.input === undefined ? 'InputMissing' : 'InputFound',
        message: inputText(bundle),
      },
    ],
  }),
  affectedBy: (source, changed) =>
    changed.kind === 'ConfigMap'
      ? source
          .list('Widget', changed.metadata.namespace ?? '')
          .filter((widget) => specOf(widget).inputRef === changed.metadata.name)
          .map(keyOf)
      : [],
};

const inputText = ({ input }: WidgetBundle): string => (input === undefined ? 'no input' : 'input is there');

const statusOf = (bundle: WidgetBundle): Record<string, unknown> => {
  const { readyReplicas } = (bundle.deployment?.['status'] ?? {}) as { readonly readyReplicas?: number };
  const isFound = bundle.input !== undefined;
  return {
    phase: 'Ready',
    readyReplicas: readyReplicas ?? 0,
    inputKeys: Object.keys(bundle.input?.['data'] ?? {}).length,
    conditions: [
      {
        type: 'InputAvailable',
        status: isFound ? 'True' : 'False',
        reason: isFound ? 'InputFound' : 'InputMissing',
        message: inputText(bundle),
      },
    ],
  };
};

const childrenOf = ({ widget, spec }: WidgetBundle): readonly KubeObject[] => {
  const { name, namespace = '', uid = '' } = widget.metadata;
  const labels = {
    'app.kubernetes.io/name': 'vmcp',
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'vmcp-operator',
    'app.kubernetes.io/component': 'widget',
  };
  const owner = {
    apiVersion: widgetResource.apiVersion,
    kind: 'Widget',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const child = (apiVersion: string, kind: string, childName: string, content: object): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: childName, namespace, labels: { ...spec.labels, ...labels }, ownerReferences: [owner] },
    ...content,
  });
  const config = `widget-${name}-${hashOf(spec.revision ?? 0, 6)}`;
  return [
    child('v1', 'ServiceAccount', `widget-${name}`, { automountServiceAccountToken: false }),
    child('v1', 'ConfigMap', config, { data: { greeting: spec.greeting } }),
    child('v1', 'Service', `widget-${name}`, {
      spec: { selector: labels, ports: [{ name: 'http', port: spec.servicePort ?? 80, targetPort: 'http' }] },
    }),
    child('apps/v1', 'Deployment', `widget-${name}`, {
      spec: {
        ...(spec.replicas === undefined ? {} : { replicas: spec.replicas }),
        revisionHistoryLimit: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(`widget-${name}`, config) },
      },
    }),
  ];
};

/**
 * With lists keyed by one and by two fields, atomic lists, quantities in a form the server rewrites, and empty objects.
 */
const podSpec = (serviceAccountName: string, config: string): object => ({
  serviceAccountName,
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'widget',
      image: 'example.test/widget:1',
      args: ['serve', '--greeting-file', '/etc/widget/greeting'],
      env: [
        { name: 'ONE', value: '1' },
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      ports: [{ name: 'http', containerPort: 8080 }],
      resources: { requests: { cpu: '0.05', memory: '128Mi' }, limits: { memory: '524288Ki' } },
      volumeMounts: [
        { name: 'vmcp-config', mountPath: '/etc/widget' },
        { name: 'tmp', mountPath: '/tmp' },
      ],
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    },
  ],
  volumes: [
    { name: 'vmcp-config', configMap: { name: config, items: [{ key: 'greeting', path: 'greeting' }] } },
    { name: 'tmp', emptyDir: {} },
  ],
});

const string = { type: 'string' };

export const widgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.test.vmcp.dev' },
  spec: {
    group: 'test.vmcp.dev',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: {
                type: 'object',
                properties: {
                  phase: string,
                  message: string,
                  checkedAt: string,
                  readyReplicas: { type: 'integer' },
                  inputKeys: { type: 'integer' },
                  observedGeneration: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
                      properties: {
                        type: string,
                        status: string,
                        reason: string,
                        message: string,
                        lastTransitionTime: { type: 'string', format: 'date-time' },
                        observedGeneration: { type: 'integer' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

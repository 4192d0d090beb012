import { createServer } from 'node:https';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { newAuthority, newServerCertificate } from '../../../operator/admission/x509.ts';
import type { ApiAccess } from '../../cluster/index.ts';

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string }[];
}

interface PodSpec {
  readonly containers: readonly Container[];
}

interface Template {
  readonly metadata?: { readonly annotations?: object };
  readonly spec: PodSpec;
}

interface Reviewed {
  readonly kind: string;
  readonly metadata: { readonly annotations?: object };
  readonly spec: PodSpec & { readonly template: Template };
}

interface Review {
  readonly request: { readonly uid: string; readonly object: Reviewed };
}

const SIDECAR = { name: 'mesh-proxy', image: 'example.test/mesh:1', ports: [{ containerPort: 15_090 }] };
const INJECTED = { name: 'MESH_ID', value: 'mesh' };

/** What service meshes and policy engines do: a container more, variables in another order and one more, defaults. */
const meddledPod = (spec: PodSpec): object => ({
  dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
  priorityClassName: '',
  ...spec,
  containers: [
    ...spec.containers
      .filter(({ name }) => name !== SIDECAR.name)
      .map((container) => ({
        terminationMessagePolicy: 'FallbackToLogsOnError',
        ...container,
        env: [...(container.env ?? []).filter(({ name }) => name !== INJECTED.name), INJECTED].toSorted((one, other) =>
          other.name.localeCompare(one.name),
        ),
      })),
    SIDECAR,
  ],
});

const annotated = (metadata: Reviewed['metadata'] | undefined): object => ({
  ...metadata,
  annotations: { ...metadata?.annotations, 'mesh.example/injected': 'true' },
});

const patchOf = ({ kind, metadata, spec }: Reviewed): readonly object[] => {
  if (kind === 'Pod') {
    return [
      { op: 'replace', path: '/spec', value: meddledPod(spec) },
      { op: 'replace', path: '/metadata', value: annotated(metadata) },
    ];
  }
  const { template } = spec;
  const meddled = { ...template, metadata: annotated(template.metadata), spec: meddledPod(template.spec) };
  return [{ op: 'replace', path: '/spec/template', value: meddled }];
};

/** A third party's webhook that changes pods, Deployments and StatefulSets whenever they are written. */
export interface Meddler {
  readonly asked: () => number;
  readonly stop: () => Promise<void>;
}

export const startMeddler = async (cluster: ApiAccess): Promise<Meddler> => {
  const validity = { fromMs: Date.now() - 60_000, toMs: Date.now() + 3_600_000 };
  const authority = newAuthority('meddler', validity);
  const { certificate, key } = newServerCertificate(['127.0.0.1'], validity, authority);
  let asked = 0;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    asked += 1;
    void json(request).then((review) => {
      const { uid, object } = (review as Review).request;
      const patch = Buffer.from(JSON.stringify(patchOf(object))).toString('base64');
      const answer = { uid, allowed: true, patchType: 'JSONPatch', patch };
      const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(authority.certificate).toString('base64');
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(configurationOf(port, caBundle)));
  return {
    asked: () => asked,
    stop: async () => {
      await cluster.kubectl(['delete', 'mutatingwebhookconfiguration', 'meddler']);
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

const configurationOf = (port: number, caBundle: string): object => {
  const rule = (group: string, resources: readonly string[]): object => ({
    apiGroups: [group],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources,
  });
  const webhook = {
    name: 'meddler.example.test',
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
    rules: [rule('', ['pods']), rule('apps', ['deployments', 'statefulsets'])],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    // The operator's own request is not the only one: what one webhook changes the next may look at again.
    reinvocationPolicy: 'IfNeeded',
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'meddler' },
    webhooks: [webhook],
  };
};

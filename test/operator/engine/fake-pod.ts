import { once } from 'node:events';
import { createServer } from 'node:http';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWK } from 'jose';
import type { StatusReport } from '../../../runtime/status/report.ts';
import type { ApiAccess } from '../../cluster/index.ts';

/** Stands in for a runtime's management port: answers `/status` to a token that the operator's key signed, else 401. */
export interface FakePod {
  report: StatusReport;
  stop(): Promise<void>;
}

export const serveReport = async (
  address: string,
  trust: { readonly keys: readonly JWK[]; readonly audience: string },
  report: StatusReport,
): Promise<FakePod> => {
  const keys = createLocalJWKSet({ keys: [...trust.keys] });
  const pod = { report };
  const server = createServer((request, response) => {
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    jwtVerify(token, keys, { audience: trust.audience, issuer: 'vmcp-operator' }).then(
      () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(pod.report)),
      () => response.writeHead(401).end(),
    );
  });
  server.listen(4484, address);
  await once(server, 'listening');
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(pod, { stop });
};

/** Makes the API server believe that this pod runs at the address and is ready; there is no kubelet to say so. */
export const pretendReady = async (cluster: ApiAccess, name: string, address: string): Promise<void> => {
  const at = new Date().toISOString();
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: at });
  const status = {
    phase: 'Running',
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map(condition),
  };
  const patch = JSON.stringify({ status });
  await cluster.kubectl(['patch', 'pod', name, '--subresource=status', '--type=merge', '-p', patch]);
};

/** Makes the API server believe that this pod is on a node; there is no scheduler. */
export const bindToNode = async (cluster: ApiAccess, pod: string): Promise<void> => {
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: pod },
    target: { kind: 'Node', name: 'nowhere' },
  };
  const path = `/api/v1/namespaces/default/pods/${pod}/binding`;
  await cluster.kubectl(['create', '--raw', path, '-f', '-'], JSON.stringify(binding));
};

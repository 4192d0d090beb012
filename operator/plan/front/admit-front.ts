import type { KubeObject } from '../../object.ts';
import { podLabelsOf } from '../server/objects/names.ts';
import { type Child, labelsOfChild, metadataOfChild } from '../workload/child.ts';
import { PORT_NAME } from '../workload/objects.ts';

/**
 * Lets nothing but the pods of the front reach those behind it: whoever else could connect there would be asked for no
 * token. It holds where the network of the cluster enforces policies; probes come from the pod's own node, which no
 * policy holds back.
 */
export const admitFront = (behind: Child): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: metadataOfChild(behind),
  spec: {
    podSelector: { matchLabels: labelsOfChild(behind) },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: podLabelsOf(behind.owner) } }],
        ports: [{ port: PORT_NAME, protocol: 'TCP' }],
      },
    ],
  },
});

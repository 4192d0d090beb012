import * as z from 'zod';
import { AGE_COLUMN, READY_COLUMN, defineKind } from './kind.ts';
import { commonStatus, nonEmpty, secretRef } from './kit.ts';
import { environment, podTemplateSpec, quantity, resources } from './workload.ts';

const modelCache = z.strictObject({
  enabled: z.boolean().default(true).describe('Keeps the model on a volume of its own.'),
  size: quantity().default('10Gi').describe('Size of the volume.'),
  accessMode: z
    .enum(['ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'])
    .default('ReadWriteOnce')
    .describe('Access mode of the volume.'),
  storageClassName: z.string().optional().describe("Storage class. Default: the cluster's own default."),
});

export const embeddingServer = defineKind({
  kind: 'EmbeddingServer',
  plural: 'embeddingservers',
  shortNames: ['emb'],
  description: 'A server that turns text into vectors (text-embeddings-inference protocol), for the optimizer.',
  // A StatefulSet name above 52 characters starts no pod (docs/decisions.md "Names of resources").
  nameMaxLength: 36,
  spec: z.strictObject({
    model: nonEmpty().default('BAAI/bge-small-en-v1.5').describe('Model to load.'),
    image: nonEmpty().default('ghcr.io/huggingface/text-embeddings-inference:cpu-latest').describe('Container image.'),
    imagePullPolicy: z
      .enum(['Always', 'Never', 'IfNotPresent'])
      .default('IfNotPresent')
      .describe('When the image is pulled.'),
    port: z.int32().min(1).max(65_535).default(8080).describe('Port the container listens on.'),
    replicas: z.int32().min(1).default(1).describe('Number of pods.'),
    args: z.array(z.string()).optional().describe('More arguments for the server.'),
    env: environment().optional().describe('Environment variables of the container.'),
    hfTokenSecretRef: secretRef().optional().describe('Secret key of the token that fetches the model.'),
    modelCache: modelCache.optional().describe('Volume that keeps the model across restarts.'),
    resources: resources().optional().describe('Resources of the container.'),
    podTemplateSpec: podTemplateSpec('embedding').optional(),
  }),
  status: z.strictObject({
    phase: z.enum(['Pending', 'Downloading', 'Ready', 'Failed']).default('Pending').describe('Whether it answers.'),
    message: z.string().optional().describe('Detail about the phase.'),
    url: z.string().optional().describe('Address of the server.'),
    readyReplicas: z.int32().optional().describe('Pods that are ready.'),
    ...commonStatus,
  }),
  columns: [
    { name: 'Phase', path: '.status.phase' },
    { name: 'Model', path: '.spec.model' },
    { name: 'URL', path: '.status.url' },
    { name: 'Replicas', path: '.status.readyReplicas', type: 'integer' },
    READY_COLUMN,
    AGE_COLUMN,
  ],
});

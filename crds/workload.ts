import * as z from 'zod';
import { keyedList, sessionStorageRules, sessionStorageShape, withRules } from '../runtime/config/index.ts';
import { freeForm, nonEmpty, refTo, refWith, secretRef, subdomain } from './kit.ts';

/** Fields that the kinds with pods of their own share. */

export const groupRef = () => refTo('MCPGroup', nonEmpty());

export const externalAuthConfigRef = () => refTo('MCPExternalAuthConfig');

export const authServerRef = () =>
  refWith('MCPExternalAuthConfig', {
    kind: z
      .literal('MCPExternalAuthConfig')
      .default('MCPExternalAuthConfig')
      .describe('Kind of the object referred to.'),
  });

export const podTemplateSpec = (container: string) =>
  freeForm().describe(
    `Pod template merged into the one the operator makes; the server's container in it is called ${container}.`,
  );

/** Kubernetes: resource quantities. The API server works on `1e999999999` for as long as it runs. */
export const quantity = () =>
  z
    .string()
    .max(32)
    .regex(/^([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$/, {
      error: 'not an amount; write one like 500m, 2, 256Mi or 1e3',
    });

const quantities = () =>
  z.strictObject({
    cpu: quantity().optional().describe('Processor time, such as 100m.'),
    memory: quantity().optional().describe('Memory, such as 128Mi.'),
  });

export const resources = () =>
  z.strictObject({
    requests: quantities().optional().describe('What the scheduler sets aside.'),
    limits: quantities().optional().describe('What the container may use at most.'),
  });

/** Kubernetes: names of environment variables. */
export const variableName = () =>
  z
    .string()
    .max(253)
    .regex(/^[ -<>-~]+$/, { error: 'not a name of a variable; use printable ASCII characters without =' });

export const environment = () =>
  keyedList(
    z.strictObject({
      name: variableName().describe('Name of the environment variable.'),
      value: z.string().describe('Its value.'),
    }),
    'name',
  );

export const sessionAffinity = () =>
  z
    .enum(['ClientIP', 'None'])
    .default('ClientIP')
    .describe('Whether connections of one client address go to the same pod.');

/** Kubernetes: names of service accounts. Empty, the pods would get the namespace's default account, with its token. */
export const serviceAccount = () =>
  subdomain().optional().describe('An existing service account for the pods. Absent: one is made.');

export const replicas = () => z.int32().min(0);

export const remoteUrl = () =>
  z
    .string()
    .max(2048)
    .regex(/^https?:\/\/[^\s/?#]+/, { error: 'not an HTTP address; write http:// or https:// and a host' })
    .describe('Address of the remote MCP server.');

/** Headers sent with every request to a remote server. */
export const headerForward = () =>
  z.strictObject({
    addPlaintextHeaders: z
      .record(z.string(), z.string())
      .optional()
      .describe('Headers with values that are no secret.'),
    addHeadersFromSecret: keyedList(
      z.strictObject({
        headerName: z.string().min(1).max(255).describe('Name of the header.'),
        valueSecretRef: secretRef().describe('Secret key that holds the value.'),
      }),
      'headerName',
    )
      .optional()
      .describe('Headers whose values are in Secrets.'),
  });

/**
 * `spec.sessionStorage` of docs/resources.md "VirtualMCPServer": the fields of the configuration plus the reference to
 * the password.
 */
export const sessionStorage = () =>
  withRules(
    z.strictObject({
      ...sessionStorageShape,
      passwordRef: secretRef().optional().describe('Secret key that holds the password.'),
    }),
    ...sessionStorageRules,
  );

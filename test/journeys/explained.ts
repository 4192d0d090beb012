import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Node } from '../cluster/index.ts';
import { run } from '../cluster/command.ts';
import { resource } from './callers.ts';

const root = join(import.meta.dirname, '..', '..');

/** The policies of server `explained`, whose one tool is the one that they permit. */
export const rules = (tool: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'rules' },
  data: {
    'authz.json': JSON.stringify({
      version: '1.0',
      type: 'cedarv1',
      cedar: {
        policies: [`@id("agents") permit(principal, action == Action::"call_tool", resource == Tool::"${tool}");`],
      },
    }),
  },
});

/** Two replicas with the policies of `rules`. */
export const explainedServer = (callers: object): object =>
  resource('VirtualMCPServer', 'explained', {
    groupRef: { name: 'tools' },
    replicas: 2,
    incomingAuth: { type: 'oidc', ...callers, authzConfig: { type: 'configMap', configMap: { name: 'rules' } } },
  });

/** One pod of a server: where it listens, and who it is. */
export interface ServerPod {
  readonly address: string;
  /** The uid, and how often its containers began anew. */
  readonly identity: string;
}

/** The pods of a resource of this kind (in lower case) and name. */
export const podsOf = async (node: Node, kind: string, name: string): Promise<readonly ServerPod[]> => {
  const each =
    '{range .items[*]}{.status.podIP} {.metadata.uid} {.status.containerStatuses[*].restartCount}{"\\n"}{end}';
  const selector = `app.kubernetes.io/component=${kind},app.kubernetes.io/instance=${name}`;
  const lines = (await node.kubectl(['get', 'pods', '-l', selector, '-o', `jsonpath=${each}`])).trim().split('\n');
  return lines.map((line) => {
    const [address = '', ...identity] = line.split(' ');
    return { address, identity: identity.join(' ') };
  });
};

/** What is asked about: a tool, for the caller with this token. */
export interface Asked {
  readonly server: string;
  readonly token: string;
  readonly tool: string;
}

interface Told {
  readonly allowed: boolean;
  readonly listed: boolean;
  readonly steps: readonly { readonly step: string; readonly outcome: string; readonly reason: string }[];
}

/** What `vmcp explain` prints of each pod, as docs/explain.md "In a cluster" has it. */
export const explained = async (node: Node, { server, token, tool }: Asked): Promise<readonly Told[]> => {
  const uid = await node.kubectl(['get', 'vmcp', server, '-o', 'jsonpath={.metadata.uid}']);
  const secret = await node.kubectl([
    'get',
    'secret',
    'vmcp-operator-management',
    '--namespace',
    'vmcp-system',
    '-o',
    'json',
  ]);
  const opens = await run(process.execPath, [join(root, 'operator/main.ts'), 'management-token', uid], {
    input: secret,
  });
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-explained-'));
  try {
    const files = [join(folder, 'management'), join(folder, 'token')] as const;
    await Promise.all([writeFile(files[0], opens), writeFile(files[1], token)]);
    const pods = await podsOf(node, 'virtualmcpserver', server);
    return await Promise.all(pods.map(({ address }) => ask(`http://${address}:4484`, tool, files)));
  } finally {
    await rm(folder, { recursive: true });
  }
};

const ask = async (url: string, tool: string, files: readonly [string, string]): Promise<Told> => {
  const flags = ['--tool', tool, '--management-url', url, '-o', 'json'];
  const tokens = ['--management-token-file', files[0], '--token-file', files[1]];
  const explain = [join(root, 'runtime/main.ts'), 'explain', ...flags, ...tokens];
  // Exit code 1: the call is refused. What went wrong otherwise is no JSON.
  const script = '"$@" || [ $? -eq 1 ]';
  return JSON.parse(await run('sh', ['-c', script, 'sh', process.execPath, ...explain])) as Told;
};

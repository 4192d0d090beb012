import type { ChildProcess } from 'node:child_process';
import { type ControlPlane, until } from '../../test/cluster/index.ts';
import { made, madeServer } from '../../test/operator/engine/cluster-user.ts';
import { kill, spawnOperator } from '../../test/operator/engine/operator-process.ts';
import { installOperator, servers, untilQuiet } from '../../test/operator/engine/operator-under-test.ts';
import { builtProgram } from '../../test/images/bundle.ts';
import { imageSettings } from '../../test/images/image-settings.ts';

/** The operator as a process of its own, with the rights that the chart gives it. */
export interface OperatorProcess {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export const startOperatorProcess = async (plane: ControlPlane): Promise<OperatorProcess> => {
  const { flags: args, env } = await imageSettings('Dockerfile.operator');
  const child = spawnOperator(
    await installOperator(plane, servers),
    { 'log-level': 'warn' },
    { args, env, program: await builtProgram('operator/main.ts'), stdout: 'inherit' },
  );
  await untilLeading(plane, child);
  return {
    pid: child.pid ?? 0,
    stop: () => kill(child, 'SIGTERM'),
  };
};

const untilLeading = async (plane: ControlPlane, child: ChildProcess): Promise<unknown> =>
  until('the operator to lead', async () => {
    if (child.exitCode !== null) throw new Error(`the operator ended with ${child.exitCode}`);
    return plane.kubectl(['get', 'lease', '-n', 'vmcp-system', 'vmcp-operator']);
  });

/** What an API server is given at once: servers, each with a group of its own of so many entries. */
export const manifests = (count: number, entriesEach: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => `s${index}`).flatMap((name) => [
    made('MCPGroup', name, {}),
    ...Array.from({ length: entriesEach }, (_, index) =>
      made('MCPServerEntry', `${name}-e${index}`, {
        groupRef: { name },
        remoteUrl: `https://${name}-e${index}.example.com/mcp`,
        transport: 'streamable-http',
      }),
    ),
    madeServer(name, { groupRef: { name } }),
  ]);

/** Waits until the operator has written nothing for five seconds; answers its counted writes. */
export const writesAtRest = (plane: ControlPlane): ReturnType<typeof untilQuiet> =>
  // To read them takes time of the machine that the operator would have.
  untilQuiet(plane, 5_000, { timeoutMs: 600_000, intervalMs: 5_000 });

interface Listed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly status?: { readonly observedGeneration?: number };
}

/**
 * Objects that are not there, and those of ours whose status does not tell of their newest generation; none when all is
 * done.
 */
export const missing = async (plane: ControlPlane, count: number): Promise<readonly string[]> => {
  const list = async (kinds: string): Promise<readonly Listed[]> =>
    (JSON.parse(await plane.kubectl(['get', kinds, '-o', 'json'])) as { readonly items: readonly Listed[] }).items;
  const ours = await list('vmcp,mcpgroup,mcpserverentry');
  const children = await list('serviceaccount,service,configmap,deployment');
  const kindsOf = Map.groupBy(children, ({ kind }) => kind);
  return [
    ...ours
      .filter(({ metadata, status }) => status?.observedGeneration !== metadata.generation)
      .map(({ kind, metadata }) => `status of ${kind} ${metadata.name}`),
    ...['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'].flatMap((kind) => {
      const made = (kindsOf.get(kind) ?? []).filter(({ metadata }) => metadata.name.startsWith('vmcp-s'));
      return made.length === count ? [] : [`${count - made.length} of ${kind}`];
    }),
  ];
};

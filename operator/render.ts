import { parseArgs } from 'node:util';
import { type CommandDeps, asksForHelp } from './command.ts';
import { trustedCaOf } from './flag-values.ts';
import { reconciledKinds } from './kinds/index.ts';
import { namespacesOf, planEverything } from './kinds/plan-everything.ts';
import type { Settings } from './plan/settings.ts';
import { readManifests } from './read/directory.ts';
import { problemText } from './read/manifests.ts';
import { objectsSource } from './read/source.ts';
import { joinDocuments, planDocuments } from './write/stdout.ts';

const USAGE = `usage: vmcp-operator render <dir> [--cluster-domain cluster.local] [--image vmcp] [--bridge-image vmcp-operator]
                                   [--trusted-ca CONFIGMAP/KEY]

Prints what the operator would apply for the manifests of <dir>, and the status it would report.
`;

/**
 * `vmcp-operator render <dir>`: the objects that would be applied and the status of each resource, as YAML documents.
 * The answer is the exit code: 1 when a manifest would be refused by the API server, and then nothing is printed.
 */
export const render = async (args: readonly string[], deps: CommandDeps): Promise<number> => {
  if (asksForHelp(args)) {
    deps.stdout(USAGE);
    return 0;
  }
  const options = renderOptions(args, deps.env);
  if ('problem' in options) {
    deps.stderr(`${options.problem}\n\n${USAGE}`);
    return 2;
  }
  const { objects, problems } = readManifests(options.directory);
  for (const problem of problems) deps.stderr(`${problemText(problem)}\n`);
  if (problems.length > 0) return 1;
  const planned = planEverything(
    reconciledKinds(),
    { source: objectsSource(objects), namespaces: namespacesOf(objects) },
    options.settings,
  );
  if (planned.length === 0) {
    const kinds = reconciledKinds().map(({ kind }) => kind);
    deps.stderr(
      `${options.directory}: no manifests of ${kinds.join(', ')} in *.yaml or *.yml; name another directory\n`,
    );
    return 1;
  }
  deps.stdout(joinDocuments(planned.flatMap(({ object, plan }) => planDocuments(object, plan))));
  return 0;
};

interface RenderOptions {
  readonly directory: string;
  readonly settings: Settings;
}

const renderOptions = (
  args: readonly string[],
  env: CommandDeps['env'],
): RenderOptions | { readonly problem: string } => {
  const parsed = parse(args, env);
  if (typeof parsed === 'string') return { problem: parsed };
  const { values, positionals, trustedCa } = parsed;
  const [directory, ...rest] = positionals;
  if (directory === undefined) return { problem: 'name the directory with the manifests' };
  if (rest.length > 0) return { problem: `one directory only, not also ${rest.join(' ')}` };
  return {
    directory,
    settings: {
      clusterDomain: values['cluster-domain'] ?? env['VMCP_CLUSTER_DOMAIN'] ?? 'cluster.local',
      runtimeImage: values.image ?? env['VMCP_IMAGE'] ?? 'vmcp',
      bridgeImage: values['bridge-image'] ?? env['VMCP_BRIDGE_IMAGE'] ?? 'vmcp-operator',
      ...trustedCa,
      operatorNamespace: 'vmcp-system',
      operatorKeys: [],
    },
  };
};

const parse = (args: readonly string[], env: CommandDeps['env']) => {
  try {
    const options = {
      'cluster-domain': { type: 'string' },
      image: { type: 'string' },
      'bridge-image': { type: 'string' },
      'trusted-ca': { type: 'string' },
    } as const;
    const parsed = parseArgs({ args: [...args], allowPositionals: true, options });
    return { ...parsed, trustedCa: trustedCaOf(parsed.values['trusted-ca'] ?? env['VMCP_TRUSTED_CA'] ?? '') };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

import type * as z from 'zod';
import type { DeepReadonly } from '../freeze.ts';

/** Schema of a reference to one key of a Secret, as resources spell it. */
export type SecretRefSchema = z.ZodType<SecretRef, SecretRef>;

interface SecretRef {
  readonly name: string;
  readonly key: string;
}

/** What a block of a resource is turned into a block of the file with. */
export interface ResourceContext {
  /** Absolute path of the file that the runtime reads the secret from. */
  readonly fileOf: (secret: SecretRef) => string;
  /** Names of the upstream providers of the embedded authorization server, in order; empty without one. */
  readonly upstreams: readonly string[];
}

/**
 * What is written about an outgoing strategy: its block in `config.outgoingAuth` of a resource, in the file, and in an
 * MCPExternalAuthConfig, and how the operator turns the last into the second. The three say the same and differ in how
 * secrets are spelled, so they stand in one file. What happens on the wire is in `runtime/outgoing/<strategy>.ts`.
 *
 * The slices are in `runtime/config` and not in `runtime/outgoing`: the CRDs are made of them, and `crds/` may know of
 * the runtime its contract alone.
 */
export interface StrategySlice<
  Type extends string,
  Config extends z.ZodType | undefined,
  File extends z.ZodType,
  Resource extends z.ZodType,
> {
  /** The word of `type` in config and file; an MCPExternalAuthConfig says the name of the block. */
  readonly type: Type;
  /** The runtime has it (`runtime/outgoing/strategies.ts`); what it does not have is refused. */
  readonly isSupported: boolean;
  /** `default` and `backends.<name>` of docs/configuration.md "outgoingAuth". Absent: only the file has it. */
  readonly config?: Config;
  /** The same in the file, which names files that hold secrets. */
  readonly file: File;
  /** docs/resources.md "MCPExternalAuthConfig" */
  readonly resource: (secretRef: SecretRefSchema) => Resource;
  readonly toFile: (block: DeepReadonly<z.input<Resource>>, context: ResourceContext) => DeepReadonly<z.input<File>>;
  /** Key of every spelling that names an upstream provider of the embedded authorization server. */
  readonly provider?: keyof z.input<NoInfer<File>> & string;
  /** Key of `config` that holds a secret as plain text: accepted, and told. */
  readonly literal?: keyof z.input<NonNullable<NoInfer<Config>>> & string;
  /** Keys of every spelling that hold addresses which the runtime sends secrets to. */
  readonly addresses?: readonly (keyof z.input<NoInfer<Resource>> & string)[];
  /** Keys of the resource that name headers of requests; empty counts as left out. */
  readonly headers?: readonly (keyof z.input<NoInfer<Resource>> & string)[];
}

/** The slice, with the types of its blocks. */
export const defineStrategy = <
  const Type extends string,
  File extends z.ZodType,
  Resource extends z.ZodType,
  Config extends z.ZodType | undefined = undefined,
  const Supported extends boolean = boolean,
>(
  slice: StrategySlice<Type, Config, File, Resource> & { readonly isSupported: Supported },
) => slice as typeof slice & { readonly config: Config };

/** The first upstream provider when empty and an embedded server exists: docs/resources.md "MCPExternalAuthConfig" */
export const subjectProvider = (
  written: string | undefined,
  { upstreams }: ResourceContext,
): { readonly subjectProviderName?: string } => {
  const provider = written === undefined || written === '' ? upstreams[0] : written;
  return provider === undefined ? {} : { subjectProviderName: provider };
};

import type * as z from 'zod';
import type { DeepReadonly } from '../freeze.ts';
import { notYet } from '../not-yet.ts';
import type { ResourceContext, SecretRefSchema } from './slice.ts';
import { strategies } from './strategies.ts';

type Strategies = typeof strategies;

/** As an MCPExternalAuthConfig calls it: `headerInjection`. */
export type StrategyName = keyof Strategies;

/** As config and file call it: `header_injection`. */
export type StrategyType = Strategies[StrategyName]['type'];

/** Those that the runtime has. */
export type SupportedStrategy = {
  [Name in StrategyName]: Strategies[Name]['isSupported'] extends true ? Name : never;
}[StrategyName];

type Spelling = 'config' | 'file';

/** Names of the strategies that have a block in a spelling. */
type NameIn<S extends Spelling> = {
  [Name in StrategyName]: Strategies[Name] extends { readonly [Key in S]: z.ZodType } ? Name : never;
}[StrategyName];

type SchemaOf<Name extends StrategyName, S extends Spelling> = Strategies[Name] extends {
  readonly [Key in S]: infer Schema extends z.ZodType;
}
  ? Schema
  : never;

/** What the file says of a strategy beside its type; undefined for one that has no block. */
export type BlockInFile<Name extends StrategyName> =
  Name extends NameIn<'file'> ? DeepReadonly<z.output<SchemaOf<Name, 'file'>>> : undefined;

/** A slice of whatever strategy, for what is done with all of them alike. */
export interface AnySlice {
  readonly type: string;
  readonly isSupported: boolean;
  readonly config?: z.ZodType | undefined;
  readonly file?: z.ZodType;
  readonly resource?: (secretRef: SecretRefSchema) => z.ZodType;
  readonly toFile?: (block: never, context: ResourceContext) => unknown;
  readonly provider?: string;
  readonly isUsersToken?: boolean;
  readonly literal?: string;
  readonly addresses?: readonly string[];
  readonly headers?: readonly string[];
}

/** Name and slice of each, in the order of the list, whose keys are all names there are. */
export const everyStrategy = Object.entries(strategies) as readonly (readonly [name: StrategyName, slice: AnySlice])[];

/** The block of one strategy in what any spelling says; undefined where there is none. */
export const blockOf = (said: object, name: StrategyName): Readonly<Record<string, unknown>> | undefined =>
  (said as Partial<Record<StrategyName, Readonly<Record<string, unknown>>>>)[name];

/** What a strategy that the runtime does not have is refused as. */
export const FEATURE = 'authenticating to backends';

/** The optional blocks beside `type`, as one spelling has them. */
export const blocksIn = <S extends Spelling>(spelling: S) => {
  const blocks = everyStrategy.flatMap(([name, slice]) => {
    const block = slice[spelling]?.optional();
    if (block === undefined) return [];
    return [[name, slice.isSupported ? block : notYet(block, FEATURE)]];
  });
  // Of the entries of the list, which `Object.entries` forgets the types of.
  return Object.fromEntries(blocks) as { [Name in NameIn<S>]: z.ZodOptional<SchemaOf<Name, S>> };
};

type ResourceSchema<Name extends StrategyName> = Strategies[Name] extends {
  readonly resource: (secretRef: SecretRefSchema) => infer Schema extends z.ZodType;
}
  ? Schema
  : never;

type NameInResources = {
  [Name in StrategyName]: Strategies[Name] extends { readonly resource: unknown } ? Name : never;
}[StrategyName];

/** The optional blocks of an MCPExternalAuthConfig. `secretRef` is the schema of a reference to a key of a Secret. */
export const resourceBlocks = (secretRef: SecretRefSchema) => {
  const blocks = everyStrategy.flatMap(([name, { resource }]) =>
    resource === undefined ? [] : [[name, resource(secretRef).optional()]],
  );
  // As above.
  return Object.fromEntries(blocks) as { [Name in NameInResources]: z.ZodOptional<ResourceSchema<Name>> };
};

/** Undefined for a word that is no strategy: `obo` is reserved, and an embedded authorization server is for clients. */
export const strategyNameOf = (type: string): StrategyName | undefined =>
  everyStrategy.find(([, slice]) => slice.type === type)?.[0];

/** Whether the credential of this strategy, as config and file call it, is made from a token of the user's. */
export const needsUser = (type: unknown): boolean =>
  everyStrategy.some(
    ([, slice]) => slice.type === type && (slice.provider !== undefined || slice.isUsersToken === true),
  );

/**
 * `spec` of an MCPExternalAuthConfig as the file spells it (`outgoingAuth.backends.<name>`). Undefined for a type that
 * does not authenticate to backends, and where the block of the type is missing.
 */
export const strategyFromResource = (
  spec: { readonly type: string },
  context: ResourceContext,
): Readonly<Record<string, unknown>> | undefined => {
  const [name, slice] = everyStrategy.find(([each]) => each === spec.type) ?? [];
  if (name === undefined || slice?.toFile === undefined) return slice && { type: slice.type };
  const block = blockOf(spec, name);
  // The API server has checked the block against the schema of this very slice.
  return block === undefined ? undefined : { type: slice.type, [name]: slice.toFile(block as never, context) };
};

/**
 * The strategy as it holds on a server with these upstream providers: where it may name one and does not, it uses the
 * first (docs/configuration.md "outgoingAuth"). Without an embedded authorization server it stays as it is.
 */
export const withFirstProvider = <S extends { readonly type: string }>(strategy: S, [first]: readonly string[]): S => {
  const [name, slice] = everyStrategy.find(([, { type }]) => type === strategy.type) ?? [];
  const block = name && blockOf(strategy, name);
  const key = slice?.provider;
  if (!block || key === undefined || first === undefined || (block[key] ?? '') !== '') return strategy;
  return { ...strategy, [name]: { ...block, [key]: first } };
};

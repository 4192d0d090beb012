import type { Environment } from './environment.ts';
import type { Outcome } from './outcome.ts';

/** Evaluates an expression. */
export type Evaluate = (environment: Environment) => Outcome;

/** How a policy uses an argument: from that, values are derived for which it may decide differently. */
export type ArgumentUse =
  | { readonly kind: 'presence' }
  | { readonly kind: 'boolean' }
  /** As what it can never be, an entity. */
  | { readonly kind: 'never' }
  /** Compared with a value that depends on no argument. */
  | { readonly kind: 'equal' | 'order' | 'member' | 'element'; readonly other: Evaluate }
  | { readonly kind: 'pattern'; readonly examples: readonly string[] }
  /** In some way that is not followed. */
  | { readonly kind: 'other' };

/** What policies read of a request. */
export interface Reads {
  /** Names of claims with their prefix, of the principal or of the context. */
  readonly claims: Set<string>;
  /** Those among them that are read of the context. */
  readonly contextClaims: Set<string>;
  /** Names of attributes that are read of entities. */
  readonly attributes: Set<string>;
  /** The uses of each argument, by its name with its prefix. */
  readonly args: Map<string, ArgumentUse[]>;
  /** The context as one value: all claims and all arguments. */
  wholeContext: boolean;
  /** Who the principal is, beyond its claims. */
  identity: boolean;
  /** Names that `has` tests for, and names of the context that are neither claim nor argument. */
  readonly tested: Set<string>;
  readonly strange: Set<string>;
  /** Types of entities that `is` names. */
  readonly types: Set<string>;
  /** Entities that are named, as `Type::"id"`. */
  readonly entities: Map<string, { readonly type: string; readonly id: string }>;
}

export const noReads = (): Reads => ({
  claims: new Set(),
  contextClaims: new Set(),
  attributes: new Set(),
  args: new Map(),
  wholeContext: false,
  identity: false,
  tested: new Set(),
  strange: new Set(),
  types: new Set(),
  entities: new Map(),
});

export const noteUse = ({ args }: Reads, name: string, use: ArgumentUse): void => {
  const known = args.get(name);
  if (known) known.push(use);
  else args.set(name, [use]);
};

/** What several policies read together. */
export const readsTogether = (all: readonly Reads[]): Reads => {
  const together = noReads();
  for (const { claims, contextClaims, attributes, args, entities, ...flags } of all) {
    for (const claim of claims) together.claims.add(claim);
    for (const claim of contextClaims) together.contextClaims.add(claim);
    for (const name of attributes) together.attributes.add(name);
    for (const [name, uses] of args) for (const use of uses) noteUse(together, name, use);
    for (const [key, entity] of entities) together.entities.set(key, entity);
    together.wholeContext ||= flags.wholeContext;
    together.identity ||= flags.identity;
  }
  return together;
};

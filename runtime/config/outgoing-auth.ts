import * as z from 'zod';
import { notYet } from './not-yet.ts';
import { presentExactlyWhen, withRules } from './rules.ts';
import { workloadNameSchema } from './scalars.ts';
import { blocksIn, everyStrategy, FEATURE, strategyNameOf, type StrategyType } from './strategies/index.ts';

/** A word that nothing serves: docs/configuration.md "outgoingAuth" */
const RESERVED = 'obo';

type Word = StrategyType | typeof RESERVED;

const slices = everyStrategy.map(([name, slice]) => ({ name, ...slice }));

/** First those that a resource may say, too. */
const ofConfig = slices.filter(({ file, config }) => file === undefined || config !== undefined);
const ofFileAlone = slices.filter((slice) => !ofConfig.includes(slice));

/** `type`, the optional blocks beside it, and that the block of the type is there and no other. */
const strategyIn = <Blocks extends z.core.$ZodLooseShape>(types: readonly string[], blocks: Blocks) => {
  const rules = types.flatMap((type) => {
    const name = strategyNameOf(type);
    return name !== undefined && name in blocks ? presentExactlyWhen({ key: 'type', is: type }, name) : [];
  });
  return withRules(z.strictObject({ type: typeAmong(types), ...blocks }), ...rules);
};

const typeAmong = (types: readonly string[]) => {
  // What has no block in an MCPExternalAuthConfig is written by the operator alone, or authenticates nobody.
  const proposed = types.filter((type) => slices.some((slice) => slice.type === type && slice.resource !== undefined));
  const refusal = {
    reason: `not supported: ${RESERVED} is a reserved word, which has no fields, and nothing serves it`,
    remedy: `write ${proposed.join(' or ')}`,
  };
  return notYet(
    // All of them are words of the list, which `map` forgets.
    z.enum(types as [Word]).describe(`Strategy; ${RESERVED} is a reserved word that nothing serves.`),
    FEATURE,
    {
      except: slices.filter(({ isSupported }) => isSupported).map(({ type }) => type),
      refusalOf: (type) => (type === RESERVED ? refusal : undefined),
      unproposed: types.filter((type) => !proposed.includes(type)),
    },
  );
};

const configTypes = [...ofConfig.map(({ type }) => type), RESERVED];

/** `default` and `backends.<name>` of docs/configuration.md "outgoingAuth" */
export const strategySchema = strategyIn(configTypes, blocksIn('config'));

/** The same in the file, which also names files that hold secrets. */
export const fileStrategySchema = strategyIn(
  [...configTypes, ...ofFileAlone.map(({ type }) => type)],
  blocksIn('file'),
);

const outgoingAuthOf = <S extends z.ZodType>(strategy: S) =>
  z.strictObject({
    source: z
      .enum(['inline', 'discovered'])
      .describe('Whether backends and their authentication are listed here or found in the group.'),
    default: strategy.optional().describe('Strategy of backends without an entry of their own.'),
    backends: z.record(workloadNameSchema, strategy).default({}).describe('Strategies by backend name.'),
  });

const meaning = 'Authentication to the backends.';

/** docs/configuration.md "outgoingAuth" */
export const outgoingAuthSchema = outgoingAuthOf(strategySchema).describe(
  `${meaning} Superseded by spec.outgoingAuth in the cluster.`,
);

/** The same in the file. */
export const fileOutgoingAuthSchema = outgoingAuthOf(fileStrategySchema).describe(meaning);

import { type FieldsOf, fieldsOf } from '../../crds/index.ts';
import { firstIndexes } from '../../runtime/config/index.ts';
import { amountOf } from '../quantity.ts';
import { type Validator, type Violation, violation } from './validator.ts';

const KINDS = ['EmbeddingServer', 'MCPRemoteProxy', 'MCPServer'] as const;

type WorkloadSpec = FieldsOf<(typeof KINDS)[number]>;

/**
 * Fields that become fields of pods and volumes: what the API server would refuse there is reported at its own path.
 */
export const workload: Validator = {
  kinds: KINDS,
  validate: (object) => {
    const spec = fieldsOf(KINDS, object);
    return [...requestsAboveLimits(spec), ...cacheSize(spec), ...variablesTwice(spec)];
  },
};

const requestsAboveLimits = ({ resources }: WorkloadSpec): readonly Violation[] => {
  const limits: Readonly<Record<string, string>> = resources?.limits ?? {};
  return Object.entries(resources?.requests ?? {}).flatMap(([resource, text]) => {
    const [asked, most] = [amountOf(text), amountOf(limits[resource])];
    if (asked === undefined || most === undefined || asked <= most) return [];
    const reason = `asks for ${text}, and the limit is ${limits[resource]}`;
    return [violation(`spec.resources.requests.${resource}`, reason, 'ask for less, or raise the limit')];
  });
};

const cacheSize = ({ modelCache }: WorkloadSpec): readonly Violation[] => {
  if (modelCache?.size === undefined || (amountOf(modelCache.size) ?? 0) > 0) return [];
  const reason = `${JSON.stringify(modelCache.size)} is no size of a volume`;
  return [violation('spec.modelCache.size', reason, 'write one like 10Gi')];
};

/**
 * The schema keeps the names of `env` apart, and each key of a Secret; two lists may still give one name two values.
 */
const variablesTwice = ({ env = [], secrets = [] }: WorkloadSpec): readonly Violation[] => {
  const firsts = firstIndexes([...env.map(({ name }) => name), ...secrets.map(nameOfVariable)]);
  return secrets.flatMap((secret, index) => {
    const name = nameOfVariable(secret);
    if (firsts[env.length + index] === env.length + index) return [];
    const remedy = 'set targetEnvName to a name of its own, or remove one of them';
    return [violation(`spec.secrets[${index}]`, `the variable ${name} has another value already`, remedy)];
  });
};

const nameOfVariable = ({ key, targetEnvName }: { readonly key: string; readonly targetEnvName?: string }): string =>
  targetEnvName ?? key;

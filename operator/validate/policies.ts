import { policyProblems, questionable, type PolicyProblem, type WrittenPolicies } from '../../runtime/gate/index.ts';
import type { KubeObject } from '../object.ts';
import { type Validator, violation, type Violation } from './validator.ts';

/** Inline policies of every kind that has some: each is one static policy of Cedar (docs/policies.md "Mistakes"). */
export const policies: Validator = {
  kinds: ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy'],
  validate: (object) => told(object, policyProblems),
};

/** What inline policies probably do not mean. */
export const questionablePolicies = (object: KubeObject): readonly Violation[] => {
  const hasFurtherIssuers = isFilled(member(member(member(object.spec, 'config'), 'extensions'), 'issuers'));
  return told(object, (written) => questionable({ ...written, hasFurtherIssuers }));
};

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

const told = (
  object: KubeObject,
  look: (policies: WrittenPolicies) => readonly PolicyProblem[],
): readonly Violation[] => {
  const inline = inlinePolicies(object);
  if (!inline) return [];
  return look(inline.written).map(({ path, reason, remedy }) =>
    violation(`${inline.path}${path.map(step).join('')}`, reason, remedy),
  );
};

const step = (key: string | number): string => (typeof key === 'number' ? `[${key}]` : `.${key}`);

const inlinePolicies = ({
  kind,
  spec = {},
}: KubeObject): { readonly path: string; readonly written: WrittenPolicies } | undefined => {
  const isVirtual = kind === 'VirtualMCPServer';
  const path = isVirtual ? 'spec.incomingAuth.authzConfig.inline' : 'spec.authzConfig.inline';
  const authz = member(isVirtual ? member(spec, 'incomingAuth') : spec, 'authzConfig');
  const inline = member(authz, 'inline');
  const [texts, entitiesJson] = [member(inline, 'policies'), member(inline, 'entitiesJson')];
  // Anything else is for the schema to tell.
  if (!Array.isArray(texts) || !texts.every((each) => typeof each === 'string')) return undefined;
  if (entitiesJson !== undefined && typeof entitiesJson !== 'string') return undefined;
  return { path, written: { policies: texts, entitiesJson } };
};

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

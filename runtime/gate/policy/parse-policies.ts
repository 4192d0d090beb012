import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { clipped } from '../../text.ts';
import { withCedar } from './engine.ts';
import { isTooDeep, MAX_POLICIES_LENGTH, MAX_POLICY_LENGTH } from './policy-text.ts';

/** A policy as it was written, with Cedar's JSON form of it. */
export interface ParsedPolicy {
  /** Its annotation `@id`, else `policy<N>` by position, counted from 0. */
  readonly id: string;
  readonly text: string;
  readonly json: PolicyJson;
  /** Annotated `@dryRun`: evaluated and reported, not enforced. */
  readonly isDryRun: boolean;
}

/** Something wrong with policies or their entities; `path` begins at the object that holds both. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[];
  readonly reason: string;
  readonly remedy: string;
}

export interface ParsedPolicies {
  readonly policies: readonly ParsedPolicy[];
  readonly problems: readonly PolicyProblem[];
}

/** Parses each entry of `policies` as one static policy. Throws CedarFailure. */
export const parsePolicies = (texts: readonly string[]): ParsedPolicies => {
  if (texts.reduce((sum, text) => sum + text.length, 0) > MAX_POLICIES_LENGTH)
    return { policies: [], problems: [TOGETHER_TOO_LONG] };
  if (texts.length > MAX_POLICIES) return { policies: [], problems: [TOO_MANY] };
  const policies: ParsedPolicy[] = [];
  const problems: PolicyProblem[] = [];
  const known = new Map<string, number>();
  for (const [index, text] of texts.entries()) {
    if (problems.length >= MOST_TOLD) break;
    const path = ['policies', index];
    const parsed = onePolicy(text, index);
    if ('reason' in parsed) {
      problems.push({ path, ...parsed });
      continue;
    }
    const before = known.get(parsed.id);
    if (before === undefined) policies.push(parsed);
    else problems.push({ path, ...sameId(parsed.id, before) });
    known.set(parsed.id, before ?? index);
  }
  return { policies, problems };
};

type Told = Pick<PolicyProblem, 'reason' | 'remedy'>;

const TOGETHER_TOO_LONG: PolicyProblem = {
  path: ['policies'],
  reason: `the policies are longer than ${MAX_POLICIES_LENGTH} characters together`,
  remedy: 'shorten them, or name what they have in common in entitiesJson',
};

/** Policies of one server, and problems that are told at once. */
const MAX_POLICIES = 1_000;
const MOST_TOLD = 20;

const TOO_MANY: PolicyProblem = {
  path: ['policies'],
  reason: `more than ${MAX_POLICIES} policies`,
  remedy: 'join policies that differ in one name: compare with a set, or use groups of entitiesJson',
};

const MAX_ID_LENGTH = 128;

const onePolicy = (text: string, index: number): ParsedPolicy | Told => {
  if (text.length > MAX_POLICY_LENGTH)
    return { reason: `longer than ${MAX_POLICY_LENGTH} characters`, remedy: 'split it into several policies' };
  if (!text.isWellFormed())
    return { reason: 'not valid Unicode: half of a surrogate pair', remedy: 'write whole characters' };
  if (isTooDeep(text)) {
    const remedy = 'split it into several policies, or compare with a set: ["a", "b"].contains(…)';
    return { reason: 'nested too deeply, or too many operators in a row', remedy };
  }
  const answer = withCedar((cedar) => cedar.policyToJson(text));
  if (answer.type === 'failure') return notParsed(text, answer.errors[0]);
  const annotations = (answer.json.annotations ?? {}) as Readonly<Record<string, string | null>>;
  const { id = `policy${index}` } = annotations;
  if (id === null || id === '' || id.length > MAX_ID_LENGTH)
    return { reason: `@id is empty or longer than ${MAX_ID_LENGTH} characters`, remedy: 'write @id("name")' };
  return { id, text, json: answer.json, isDryRun: 'dryRun' in annotations };
};

const sameId = (id: string, before: number): Told => ({
  reason: `its id ${JSON.stringify(id)} is that of policies[${before}]`,
  remedy: 'give each policy an id of its own, or none',
});

interface CedarError {
  readonly message: string;
  readonly help: string | null;
  readonly sourceLocations?: readonly { readonly start: number; readonly label: string | null }[] | undefined;
}

const notParsed = (text: string, error: CedarError | undefined): Told => {
  const held = withCedar((cedar) => cedar.policySetTextToParts(text));
  const count = held.type === 'success' ? held.policies.length : 0;
  if (count > 1)
    return { reason: `holds ${count} policies`, remedy: 'write each policy as an entry of its own in policies' };
  const [place] = error?.sourceLocations ?? [];
  const message = (error?.message ?? '').replace(/^failed to parse policy from string: /, '');
  const remedy = error?.help ?? place?.label ?? 'correct the policy; docs/policies.md has examples';
  return { reason: `${placeIn(text, place?.start ?? 0)}: ${clipped(message)}`, remedy: clipped(remedy) };
};

/** Cedar counts bytes of UTF-8. */
const placeIn = (text: string, byte: number): string => {
  const before = Buffer.from(text).subarray(0, byte).toString();
  const lines = before.split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1} of the policy`;
};

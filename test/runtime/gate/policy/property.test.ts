import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { User } from '../../../../runtime/call/caller.ts';
import { candidatesOf } from '../../../../runtime/gate/policy/candidates.ts';
import { Decisions } from '../../../../runtime/gate/policy/callers.ts';
import { environmentOf, requestOf } from '../../../../runtime/gate/policy/decision-request.ts';
import { preparePolicies } from '../../../../runtime/gate/policy/engine.ts';
import { parseEntities } from '../../../../runtime/gate/policy/entities.ts';
import { canRead, readArguments, readClaims } from '../../../../runtime/gate/policy/read-values.ts';
import { openPolicySet } from '../../../../runtime/gate/policy/policy-set.ts';
import { userOf } from '../../../fixtures/callers.ts';
import { anyPolicies, ARGUMENT_VALUES, claims, ENTITIES, plainClaims, plainPolicies, subjects } from './generated.ts';
import { toolCall, toolSubject, toolTarget, unshownMetrics, withArguments } from './requests.ts';

const failure = (error: Error): never => {
  throw error;
};

/** Each combination of the arguments that these policies read. */
const combinations = (texts: readonly string[]) => {
  const of = (name: string) => (texts.some((text) => text.includes(`arg_${name}`)) ? ARGUMENT_VALUES : [undefined]);
  return of('repo').flatMap((repo) => of('n').flatMap((n) => of('force').map((force) => ({ repo, n, force }))));
};

const anyValue = fc.constantFrom(...ARGUMENT_VALUES);
type Given = Readonly<Record<'repo' | 'n' | 'force', string | undefined>>;

const policiesFor = (texts: readonly string[], entitiesJson = ENTITIES) =>
  openPolicySet({ policies: texts, entitiesJson, server: 's' }, { onFailure: failure });

interface Case {
  readonly texts: readonly string[];
  readonly user: User;
  readonly name: string;
}

const cases = (policies: fc.Arbitrary<string[]>, claims: fc.Arbitrary<object>): fc.Arbitrary<Case> =>
  fc.tuple(policies, claims, subjects, fc.constantFrom('x_a', 'x_b')).map(([texts, claims, subject, name]) => ({
    texts,
    name,
    user: userOf(subject, { claims: { sub: subject, ...claims } }),
  }));

/** Combinations of arguments up to which a list is exact (docs/policies.md "Lists"). */
const MOST_COMBINATIONS = 512;

/** Whether policies distinguish no more combinations of arguments than are tried. */
const isExact = ({ user, name }: Case, set: ReturnType<typeof policiesFor>): boolean => {
  const entity = { kind: 'entity', type: 'Client', id: user.subject } as const;
  const who = { entity, claims: readClaims(user.claims, set.reads) };
  const subject = toolSubject(name);
  const { reads } = set.matterOf(subject).slice;
  const world = { server: 's', written: parseEntities(ENTITIES).entities };
  const candidates = candidatesOf(reads, environmentOf(who, subject, world)(undefined));
  return candidates.reduce((product, { values }) => product * values.length, 1) <= MOST_COMBINATIONS;
};

/** Whether the tool is listed, and whether Cedar admits any call of it. */
const tried = (each: Case, given: readonly Given[]) => {
  const { texts, user, name } = each;
  const set = policiesFor(texts);
  const isKnown = isExact(each, set);
  const decisions = new Decisions(set, unshownMetrics());
  const target = toolTarget(name);
  const isListed = decisions.visibility(user, user.claims).isVisible({ name, target }, 'tools');
  const admitted = given.find((args) => {
    const access = { ...toolCall(name, args), caller: user };
    return decisions.decide(access, target, { user, claims: user.claims }).isAllowed;
  });
  set.close();
  return { isListed, isAnyAdmitted: admitted !== undefined, isExact: isKnown };
};

test('a tool is listed if and only if some call of it is admitted', () => {
  let listed = 0;
  let hidden = 0;
  const property = fc.property(cases(plainPolicies, plainClaims), (each) => {
    const { isListed, isAnyAdmitted, isExact } = tried(each, combinations(each.texts));
    if (isListed) listed += 1;
    else hidden += 1;
    assert.equal(isListed, isAnyAdmitted || (isListed && !isExact), each.texts.join('\n'));
  });
  fc.assert(property, { numRuns: 80 });
  assert.ok(listed > 8 && hidden > 8, `${listed} listed, ${hidden} hidden`);
});

test('whatever policies do with arguments, a tool of which some call is admitted is listed', () => {
  const some = fc.array(fc.record({ repo: anyValue, n: anyValue, force: anyValue }), { minLength: 8, maxLength: 40 });
  const property = fc.property(cases(anyPolicies, claims), some, (each, given) => {
    const { isListed, isAnyAdmitted } = tried(each, given);
    assert.ok(isListed || !isAnyAdmitted, each.texts.join('\n'));
  });
  fc.assert(property, { numRuns: 300 });
});

test('the policies of a slice decide what all policies decide', () => {
  const some = fc.record({ repo: anyValue, n: anyValue, force: anyValue });
  const entities = fc.constantFrom(ENTITIES, '[]');
  const property = fc.property(
    cases(anyPolicies, claims),
    some,
    entities,
    ({ texts, user, name }, given, entitiesJson) => {
      const { entities: written } = parseEntities(entitiesJson);
      const set = policiesFor(texts, entitiesJson);
      const entity = { kind: 'entity', type: 'Client', id: user.subject } as const;
      const who = { entity, claims: readClaims(user.claims, set.reads) };
      const args = readArguments(withArguments(given), set.reads);
      if (!canRead(set.reads, [who.claims, args])) return set.close();
      const decision = set.decide(who, set.matterOf(toolSubject(name)), args);
      const all = preparePolicies(Object.fromEntries(texts.map((text, index) => [`policy${index}`, text])));
      const world = { server: 's', written };
      const {
        decision: whole,
        reason,
        failed,
      } = all.authorize(requestOf(who, toolSubject(name), { args, reads: set.reads, world }));
      assert.equal(decision.isAllowed, whole === 'allow' && failed.length === 0, texts.join('\n'));
      assert.deepEqual([decision.policies, decision.failed].map(sorted), [reason, failed].map(sorted));
      all.release();
      set.close();
    },
  );
  fc.assert(property, { numRuns: 600 });
});

const sorted = (ids: readonly string[]): readonly string[] => ids.toSorted();

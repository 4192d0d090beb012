import type { PolicyDecision } from '../../call/index.ts';
import {
  CedarFailure,
  type PolicyAnswer,
  type PolicyRequest,
  type PreparedPolicies,
  preparePolicies,
} from './engine.ts';
import { readsTogether, type Reads } from './argument-uses.ts';
import type { CompiledPolicy } from './compile-policy.ts';
import type { ParsedPolicy } from './parse-policies.ts';
import { type SettledPolicy, settledPolicy } from './settled-policy.ts';
import type { Slice } from './slices.ts';

export interface CedarDecisionsDeps {
  /** Cedar itself has failed at a decision, which is a refusal. */
  readonly onFailure: (error: CedarFailure) => void;
}

/** Slices whose policies Cedar keeps apart: some 40 KB each. */
const MOST_SLICES = 64;

/** Policies that Cedar has parsed, and what a request to them has to hold. */
interface PreparedSlice {
  readonly policies: PreparedPolicies;
  readonly reads: Reads;
}

/** Asks Cedar; where Cedar fails, the answer is no. */
export class CedarDecisions {
  readonly #deps: CedarDecisionsDeps;
  readonly #enforced: PreparedPolicies | undefined;
  /** The same, those of one slice alone: policies that do not apply take time all the same. */
  readonly #bySlice = new Map<Slice, PreparedSlice>();
  readonly #settled = new Map<CompiledPolicy, SettledPolicy>();
  /** Apart, since of policies that permit Cedar names none where others forbid. */
  readonly #dryPermits: PreparedPolicies | undefined;
  readonly #dryForbids: PreparedPolicies | undefined;
  #isClosed = false;

  constructor(policies: readonly ParsedPolicy[], deps: CedarDecisionsDeps) {
    this.#deps = deps;
    this.#enforced = prepared(policies.filter(({ isDryRun }) => !isDryRun));
    const dryRun = policies.filter(({ isDryRun }) => isDryRun);
    this.#dryPermits = prepared(dryRun.filter(({ json }) => json.effect === 'permit'));
    this.#dryForbids = prepared(dryRun.filter(({ json }) => json.effect === 'forbid'));
  }

  /** Asks the enforced policies of the slice; `requestWith` makes a request that holds what policies read. */
  enforced(slice: Slice, requestWith: (reads: Reads) => PolicyRequest): PolicyDecision {
    const { decision, reason, failed } = this.#ask(() => {
      const { policies, reads } = this.#policiesOf(slice) ?? {};
      return policies?.authorize(requestWith(reads ?? slice.reads));
    });
    return { isAllowed: decision === 'allow' && failed.length === 0, policies: reason, failed, dryRun: [] };
  }

  /** The policies that, each enforced by itself, would have decided otherwise. */
  dryRun(decision: PolicyDecision, request: PolicyRequest, unreadable: readonly string[]): readonly string[] {
    const { isAllowed, policies, failed } = decision;
    if (!isAllowed)
      return policies.length + failed.length > 0 ? [] : this.#ask(() => this.#dryPermits?.authorize(request)).reason;
    const forbids = this.#ask(() => this.#dryForbids?.authorize(request));
    const permits = this.#ask(() => this.#dryPermits?.authorize(request));
    return [...new Set([...forbids.reason, ...forbids.failed, ...permits.failed, ...unreadable])];
  }

  #policiesOf(slice: Slice): PreparedSlice | undefined {
    const before = this.#bySlice.get(slice);
    if (before || slice.enforced.length === 0) return before;
    if (this.#isClosed || this.#bySlice.size >= MOST_SLICES || !slice.isSettled)
      return this.#enforced && { policies: this.#enforced, reads: slice.reads };
    const settled = slice.enforced.map((policy) => ({ id: policy.id, ...this.#settledOf(policy) }));
    const policies = prepared(settled);
    if (!policies) return undefined;
    const made = { policies, reads: readsTogether(settled.map(({ reads }) => reads)) };
    this.#bySlice.set(slice, made);
    return made;
  }

  #settledOf(policy: CompiledPolicy): SettledPolicy {
    const settled = this.#settled.get(policy) ?? settledPolicy(policy);
    this.#settled.set(policy, settled);
    return settled;
  }

  #ask(authorize: () => PolicyAnswer | undefined): PolicyAnswer {
    try {
      return authorize() ?? REFUSED;
    } catch (error) {
      if (!(error instanceof CedarFailure)) throw error;
      this.#deps.onFailure(error);
      return REFUSED;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const policies of [this.#enforced, this.#dryPermits, this.#dryForbids]) policies?.release();
    for (const { policies } of this.#bySlice.values()) policies.release();
    this.#bySlice.clear();
  }
}

const REFUSED: PolicyAnswer = { decision: 'deny', reason: [], failed: [] };

const prepared = (policies: readonly Pick<ParsedPolicy, 'id' | 'text'>[]): PreparedPolicies | undefined =>
  policies.length === 0 ? undefined : preparePolicies(Object.fromEntries(policies.map(({ id, text }) => [id, text])));

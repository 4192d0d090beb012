import type { PolicyDecision } from '../../call/index.ts';
import {
  CedarFailure,
  type PolicyAnswer,
  type PolicyRequest,
  type PreparedPolicies,
  preparePolicies,
} from './engine.ts';
import type { ParsedPolicy } from './parse-policies.ts';
import type { Slice } from './slices.ts';

export interface CedarDecisionsDeps {
  /** Cedar itself has failed at a decision, which is a refusal. */
  readonly onFailure: (error: CedarFailure) => void;
}

/** Slices whose policies Cedar keeps apart: some 40 KB each. */
const MOST_SLICES = 64;

/** Asks Cedar; where Cedar fails, the answer is no. */
export class CedarDecisions {
  readonly #deps: CedarDecisionsDeps;
  readonly #enforced: PreparedPolicies | undefined;
  /** The same, those of one slice alone: policies that do not apply take time all the same. */
  readonly #bySlice = new Map<Slice, PreparedPolicies>();
  /** Apart, since of policies that permit Cedar names none where others forbid. */
  readonly #dryPermits: PreparedPolicies | undefined;
  readonly #dryForbids: PreparedPolicies | undefined;
  readonly #count: number;
  #isClosed = false;

  constructor(policies: readonly ParsedPolicy[], deps: CedarDecisionsDeps) {
    this.#deps = deps;
    const enforced = policies.filter(({ isDryRun }) => !isDryRun);
    this.#count = enforced.length;
    this.#enforced = prepared(enforced);
    const dryRun = policies.filter(({ isDryRun }) => isDryRun);
    this.#dryPermits = prepared(dryRun.filter(({ json }) => json.effect === 'permit'));
    this.#dryForbids = prepared(dryRun.filter(({ json }) => json.effect === 'forbid'));
  }

  enforced(slice: Slice, request: PolicyRequest): PolicyDecision {
    const { decision, reason, failed } = this.#ask(() => this.#policiesOf(slice), request);
    return { isAllowed: decision === 'allow' && failed.length === 0, policies: reason, failed, dryRun: [] };
  }

  /** The policies that, each enforced by itself, would have decided otherwise. */
  dryRun(decision: PolicyDecision, request: PolicyRequest, unreadable: readonly string[]): readonly string[] {
    const { isAllowed, policies, failed } = decision;
    if (!isAllowed) return policies.length + failed.length > 0 ? [] : this.#ask(() => this.#dryPermits, request).reason;
    const forbids = this.#ask(() => this.#dryForbids, request);
    const permits = this.#ask(() => this.#dryPermits, request);
    return [...new Set([...forbids.reason, ...forbids.failed, ...permits.failed, ...unreadable])];
  }

  #policiesOf(slice: Slice): PreparedPolicies | undefined {
    const { enforced } = slice;
    const before = this.#bySlice.get(slice);
    if (before || enforced.length === 0) return before;
    if (this.#isClosed || this.#bySlice.size >= MOST_SLICES || enforced.length === this.#count) return this.#enforced;
    const made = prepared(enforced);
    if (made) this.#bySlice.set(slice, made);
    return made;
  }

  #ask(of: () => PreparedPolicies | undefined, request: PolicyRequest): PolicyAnswer {
    try {
      return of()?.authorize(request) ?? REFUSED;
    } catch (error) {
      if (!(error instanceof CedarFailure)) throw error;
      this.#deps.onFailure(error);
      return REFUSED;
    }
  }

  close(): void {
    this.#isClosed = true;
    const all = [this.#enforced, this.#dryPermits, this.#dryForbids, ...this.#bySlice.values()];
    for (const policies of all) policies?.release();
    this.#bySlice.clear();
  }
}

const REFUSED: PolicyAnswer = { decision: 'deny', reason: [], failed: [] };

const prepared = (policies: readonly Pick<ParsedPolicy, 'id' | 'text'>[]): PreparedPolicies | undefined =>
  policies.length === 0 ? undefined : preparePolicies(Object.fromEntries(policies.map(({ id, text }) => [id, text])));

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  type BegunCall,
  CircuitBreaker,
  type CheckOutcome,
} from '../../../../runtime/backends/discovery/circuit-breaker.ts';
import type { FailedPart } from '../../../../runtime/backends/discovery/failures-in-row.ts';
import type { CircuitState } from '../../../../runtime/status/report.ts';
import { frozenClock, type FrozenClock } from '../../../fixtures/frozen-clock.ts';
import { hasCode } from '../../store/has-code.ts';

let clock: FrozenClock;
let circuit: CircuitBreaker;
let changes: CircuitState[];

const open = (failureThreshold: number): void => {
  clock = frozenClock();
  changes = [];
  circuit = new CircuitBreaker({
    backend: 'a',
    clock,
    settings: { isEnabled: true, failureThreshold, timeoutMs: 1_000 },
    onChange: (state) => changes.push(state),
    onHeld: () => {},
    onReleased: () => {},
    onDoubted: () => {},
  });
};

/** What may happen to a circuit; calls and checks that are under way end in any order. */
type Happening =
  | { readonly kind: 'call'; readonly caller: string | undefined }
  | { readonly kind: 'check' }
  | {
      readonly kind: 'ends';
      readonly what: 'call' | 'check';
      readonly at: number;
      readonly outcome: CheckOutcome;
      readonly part: FailedPart;
    }
  | { readonly kind: 'wait'; readonly ms: number };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('call'), caller: fc.constantFrom(undefined, 'alice', 'bob') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('check') }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ends'),
      what: fc.constantFrom('call', 'check'),
      at: fc.nat(5),
      outcome: fc.constantFrom<CheckOutcome>('succeeded', 'failed', 'failed', 'failed', 'undecided'),
      part: fc.constantFrom<FailedPart>('backend', 'credential'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1, 400, 999, 1_000) }) },
);

/** A call as the model has it. */
interface ModelCall {
  readonly period: number;
  readonly sentAt: number;
  readonly caller: string | undefined;
}

/** The rules in two dozen lines, from the words of docs/failures.md. */
class Model {
  state: CircuitState = 'closed';
  period = 0;
  /** The caller of each failure that may count. */
  failed: (readonly [caller: string | undefined, part: FailedPart])[] = [];
  checks = 0;
  openedAt = 0;
  /** Number of the latest event. */
  event = 0;
  succeededAt = -1;
  readonly #threshold: number;
  constructor(threshold: number) {
    this.#threshold = threshold;
  }
  to(state: CircuitState, now: number): void {
    this.state = state;
    this.period += 1;
    this.failed = [];
    this.checks = 0;
    if (state === 'open') this.openedAt = now;
  }
  isDue(now: number): boolean {
    return this.state === 'open' && now - this.openedAt >= 1_000;
  }
  begin(caller: string | undefined): ModelCall {
    this.event += 1;
    return { period: this.period, sentAt: this.event, caller };
  }
  get isFull(): boolean {
    const most = this.checks > 0 ? Infinity : Math.ceil(this.#threshold / 2);
    let count = this.checks + this.failed.filter(([caller]) => caller === undefined).length;
    for (const user of ['alice', 'bob']) {
      const parts = this.failed.filter(([caller]) => caller === user).map(([, part]) => part);
      const atBackend = parts.filter((part) => part === 'backend').length;
      count += Math.min(most, parts.includes('credential') ? atBackend + 1 : atBackend);
    }
    return count >= this.#threshold;
  }
  callEnds(call: ModelCall, { outcome, part }: { outcome: CheckOutcome; part: FailedPart }, now: number): void {
    if (call.period !== this.period || outcome === 'undecided') return;
    this.event += 1;
    if (outcome === 'succeeded') {
      this.succeededAt = this.event;
      this.failed = [];
      this.checks = 0;
    } else if (this.succeededAt < call.sentAt) this.failed.push([call.caller, part]);
    if (this.isFull) this.to('open', now);
  }
  checkEnds(period: number, outcome: CheckOutcome, now: number): void {
    if (period !== this.period) return;
    if (this.state === 'half-open') return this.to(outcome === 'succeeded' ? 'closed' : 'open', now);
    if (outcome === 'undecided') return;
    this.checks = outcome === 'failed' ? this.checks + 1 : 0;
    if (this.isFull) this.to('open', now);
  }
}

interface CallUnderWay {
  readonly circuit: BegunCall;
  readonly model: ModelCall;
}

interface CheckUnderWay {
  readonly circuit: number;
  readonly model: number;
}

/** Lets one thing happen to both. */
const happen = (what: Happening, model: Model, calls: CallUnderWay[], checks: CheckUnderWay[]): void => {
  const now = clock.now();
  if (what.kind === 'wait') return clock.advance(what.ms);
  if (what.kind === 'call') {
    if (model.state !== 'closed') return assert.throws(() => circuit.beginCall(), hasCode('circuit_open'));
    return void calls.push({ circuit: circuit.beginCall(what.caller), model: model.begin(what.caller) });
  }
  if (what.kind === 'check') {
    assert.equal(circuit.isHeld, model.state === 'open' && !model.isDue(now));
    // One check at a time is under way, and none while the circuit is held.
    if (circuit.isHeld || checks.length > 0) return;
    if (model.isDue(now)) model.to('half-open', now);
    return void checks.push({ circuit: circuit.beginCheck(), model: model.period });
  }
  if (what.what === 'check') {
    const ended = checks.pop();
    if (!ended) return;
    circuit.checkEnded(ended.circuit, what.outcome);
    return model.checkEnds(ended.model, what.outcome, now);
  }
  const [ended] = calls.splice(what.at % Math.max(1, calls.length), 1);
  if (!ended) return;
  if (what.outcome === 'succeeded') circuit.callSucceeded(ended.circuit);
  if (what.outcome === 'failed') circuit.callFailed(ended.circuit, what.part);
  model.callEnds(ended.model, what, now);
};

test('whatever happens in whatever order, the circuit does as its rules say', () => {
  const visited = new Set<CircuitState>();
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(happening, { maxLength: 80, size: 'max' }),
      (failureThreshold, all) => {
        open(failureThreshold);
        const model = new Model(failureThreshold);
        const [calls, checks]: [CallUnderWay[], CheckUnderWay[]] = [[], []];
        for (const what of all) {
          happen(what, model, calls, checks);
          assert.equal(circuit.circuit?.state, model.state);
          visited.add(model.state);
        }
        assert.equal(changes.length, model.period);
      },
    ),
    { numRuns: 500 },
  );
  assert.deepEqual([...visited].toSorted(), ['closed', 'half-open', 'open']);
});

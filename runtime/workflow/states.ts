import { createHash } from 'node:crypto';
import { argumentsOf, type Call, clientKey, unknownState, WORKFLOW_STATE } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { type Clock, seal, unseal } from '../process/index.ts';
import { prefixed, type Store } from '../store/index.ts';
import { ID_BYTES, KEPT_BYTES, partOf, placeOf, quotaOf, sharedKey } from './kept.ts';
import type { StepResult } from './results.ts';
import { parsed } from './values.ts';

/** A workflow that waits for its user, as it travels with the client (MCP 2026-07-28, "Multi Round-Trip Requests"). */
export interface WaitingRun {
  /** `WorkflowPlan.digest` */
  readonly digest: string;
  readonly executionId: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endsAt: number;
  readonly results: readonly (readonly [step: string, result: StepResult])[];
  /** When each of the steps that wait has asked, in milliseconds since the epoch. */
  readonly asked: Readonly<Record<string, number>>;
  /** How many answers to each of them were refused; absent: none. */
  readonly refused?: Readonly<Record<string, number>>;
}

/** Makes the `requestState` of workflows that wait, and opens each once. */
export interface WaitingRuns {
  /** Throws `workflow_failed` where there is too much to be kept, and what the store throws. */
  readonly keep: (call: Call, run: WaitingRun) => Promise<string>;
  /** Throws `invalid_params` for a state of another client or call, or one that is used up, over or no longer fits. */
  readonly open: (call: Call, state: string, digest: string) => Promise<WaitingRun>;
}

export interface WaitingRunsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly entropy: (bytes: number) => Buffer;
}

/** A client of this revision sends a request of at most 64 KiB, with the arguments beside the state. */
const TRAVELLING_BYTES = 16 * 1024;
/**
 * A state is sealed with AES-256-GCM for one client, one tool and its arguments; it ends with the time of its workflow
 * and is good for one request. Small ones travel, others are kept in the store, sealed as well.
 */
export const waitingRuns = ({ store: whole, clock, entropy }: WaitingRunsDeps): WaitingRuns => {
  const store = prefixed(whole, 'workflows:');
  const key = sharedKey(store, entropy);
  return {
    keep: async (call, run) => {
      const id = entropy(ID_BYTES).toString('base64url');
      const part = partOf(call);
      const text = Buffer.from(JSON.stringify({ ...run, id, part }));
      if (text.length > KEPT_BYTES) throw tooLarge(call.name);
      const sealed = seal(text, { key: await key(), as: purposeOf(call) }, entropy);
      if (sealed.length <= TRAVELLING_BYTES) return `${WORKFLOW_STATE}${SEALED}${sealed.toString('base64url')}`;
      const leftMs = Math.max(1, run.endsAt - clock.now());
      const group = quotaOf('kept', call.caller, part);
      await store.createMap(placeOf('kept', call.caller, id), new Map([[STATE, sealed]]), leftMs, group);
      return `${WORKFLOW_STATE}${KEPT}${id}`;
    },
    open: async (call, state, digest) => {
      const sealed = await sealedIn(store, call, state);
      const text = sealed && unseal(sealed, { key: await key(), as: purposeOf(call) });
      if (!text) throw unknownState();
      const { id, part, ...run } = parsed(text.toString()) as WaitingRun & Kept;
      const leftMs = run.endsAt - clock.now();
      if (leftMs <= 0) throw noLonger('its time is over');
      if (run.digest !== digest) throw noLonger('the workflow has been changed');
      if (!(await store.setIfAbsent(`used:${id}`, Buffer.alloc(0), leftMs))) throw noLonger('it was continued already');
      if (state.startsWith(`${WORKFLOW_STATE}${KEPT}`)) {
        await store.delete(placeOf('kept', call.caller, id), quotaOf('kept', call.caller, part));
      }
      return run;
    },
  };
};

interface Kept {
  readonly id: string;
  readonly part?: number;
}

const SEALED = 's.';
const KEPT = 'k.';

/** Its field of a map that is kept. */
const STATE = 'state';

const sealedIn = async (store: Pick<Store, 'readMap'>, call: Call, state: string): Promise<Buffer | undefined> => {
  const rest = state.slice(WORKFLOW_STATE.length);
  if (!state.startsWith(WORKFLOW_STATE)) return undefined;
  if (rest.startsWith(SEALED)) return Buffer.from(rest.slice(SEALED.length), 'base64url');
  const id = rest.startsWith(KEPT) ? rest.slice(KEPT.length) : '';
  return /^[\w-]{32}$/.test(id) ? (await store.readMap(placeOf('kept', call.caller, id)))?.get(STATE) : undefined;
};

/** What the state is good for; as anything else it does not open. */
const purposeOf = ({ caller, name, request }: Call): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([clientKey(caller), name]))
    .update(argumentsOf(request) ?? '')
    .digest();

const noLonger = (why: string): VmcpError =>
  new VmcpError('invalid_params', `the workflow cannot go on: ${why}; make the call again without params.requestState`);

const tooLarge = (workflow: string): VmcpError =>
  new VmcpError('workflow_failed', `"${workflow}" cannot wait: its results so far are larger than 1 MiB`, {
    data: { workflow },
  });

import type { Reason } from '../../reasons.ts';
import { names } from '../../references.ts';
import { whatPodsWaitFor } from '../../workload/pod-failures.ts';
import { SCALED_TO_ZERO } from '../../workload/rollout-state.ts';
import type { Rendering } from '../config/render.ts';
import { isRoutable } from './reports.ts';
import { type BackendView, type StatusInput, conditionsBefore, isAwaitingReports } from './status-input.ts';

/** docs/decisions.md "Phase", with what the condition `Ready` says about it. */
export interface Phase {
  /** `Stopped`: of an MCPServer alone. */
  readonly phase: 'Pending' | 'Ready' | 'Degraded' | 'Failed' | 'Stopped';
  readonly reason: Reason;
  readonly message: string;
}

/** docs/decisions.md "Phase": the rules in order, the first one that applies counts. */
export const phaseOf = (statusInput: StatusInput): Phase => {
  for (const rule of RULES) {
    const phase = rule(statusInput);
    if (phase !== undefined) return phase;
  }
  return ready(statusInput);
};

type Rule = (statusInput: StatusInput) => Phase | undefined;

/**
 * docs/decisions.md "Last good spec": a reference is waited for only before anything has served; a lost memory is a
 * failure. What an operator of another version accepted, and this one cannot render, goes on serving.
 */
const nothingAccepted: Rule = ({ newest, served, pods, bundle }) => {
  if (served !== undefined) return undefined;
  const { children, exposedController } = bundle;
  const hadServed = pods.isServing || children.deployment !== undefined || exposedController !== undefined;
  if (newest.refusals.length === 0 && !hadServed) {
    return {
      phase: 'Pending',
      reason: 'ReferenceMissing',
      message: `waiting for ${waitedFor(newest)}`,
    };
  }
  if (bundle.accepted !== undefined && pods.isServing) {
    const message = `the pods are left as they are: ${whyNot(newest)}`;
    return { phase: 'Degraded', reason: 'LastGoodSpecServes', message };
  }
  return {
    phase: 'Failed',
    reason: 'NothingToServe',
    message: hadServed ? `${whyNot(newest)}; ${whatIsLeft(bundle)}` : whyNot(newest),
  };
};

const whatIsLeft = ({ exposedController, accepted }: StatusInput['bundle']): string => {
  if (exposedController !== undefined) return 'what runs already is left as it is, with no runtime in front';
  return accepted === undefined
    ? 'the last good spec is lost, its pods are left alone and go by what their ConfigMap says, whoever wrote it'
    : 'its pods are left as they are';
};

const scaledToZero: Rule = ({ pods }) =>
  pods.isScaledToZero && !pods.isServing ? { phase: 'Pending', ...SCALED_TO_ZERO } : undefined;

const cannotStart: Rule = ({ pods }) => {
  if (pods.cannotStart === undefined) return undefined;
  const message = `pods cannot start: ${pods.cannotStart}`;
  return { phase: pods.isServing ? 'Degraded' : 'Failed', reason: 'PodsCannotStart', message };
};

const notServing: Rule = ({ pods, settings, bundle }) => {
  if (pods.isServing) return undefined;
  const message = settings.local === undefined ? whatPodsWaitFor(bundle.children.pods) : 'not running';
  return { phase: 'Pending', reason: 'PodsStarting', message };
};

const nothingReported: Rule = ({ backends, reports }) => {
  const silent = backends.filter(({ isWithheld }) => !isWithheld);
  if (silent.length === 0 || silent.some(({ status }) => status !== 'unknown')) return undefined;
  if (reports.reachable === 0 && reports.unreachable.length > 0) return undefined;
  const message = `waiting for the first answer of ${silent.map(({ name }) => name).join(', ')}`;
  return { phase: 'Pending', reason: 'BackendsNotReported', message };
};

const newestRefused: Rule = ({ newest, served }) => {
  if (served === newest) return undefined;
  return { phase: 'Degraded', reason: 'LastGoodSpecServes', message: `the last good spec serves: ${whyNot(newest)}` };
};

const backendsNotRoutable: Rule = ({ backends }) => {
  const down = backends.filter(({ status }) => !isRoutable(status));
  if (down.length === 0) return undefined;
  const names = down.map(named).join(', ');
  const message = `${down.length} of ${backends.length} backends cannot be used: ${names}`;
  return { phase: 'Degraded', reason: 'BackendsNotRoutable', message };
};

/** docs/decisions.md "Manual conflicts" */
const namesUnresolved: Rule = (statusInput) => {
  const { unresolved } = statusInput.reports;
  const wasSo =
    isAwaitingReports(statusInput) && conditionsBefore(statusInput).some(({ type }) => type === 'NamesUnresolved');
  if (unresolved.length === 0 && !wasSo) return undefined;
  const message = 'tools are withheld because several backends have their names: see the condition NamesUnresolved';
  return { phase: 'Degraded', reason: 'NamesUnresolved', message };
};

const RULES: readonly Rule[] = [
  nothingAccepted,
  scaledToZero,
  cannotStart,
  notServing,
  nothingReported,
  newestRefused,
  backendsNotRoutable,
  namesUnresolved,
];

const ready = ({ backends }: StatusInput): Phase => ({
  phase: 'Ready',
  reason: 'Serving',
  message: servingText(backends),
});

const servingText = (backends: readonly BackendView[]): string => {
  if (backends.length === 0) return 'serving, without backends';
  return withoutLogin(backends).length === 0
    ? `serving, every backend can be used (${backends.length})`
    : `serving, every backend answers (${backends.length}); ${notLoggedIn(backends)}`;
};

/** Reached, but only as far as one gets without credentials: their tools may be missing. */
export const withoutLogin = (backends: readonly BackendView[]): readonly BackendView[] =>
  backends.filter(({ status }) => status === 'unauthenticated');

/** For messages: names the backends that were reached without credentials. */
export const notLoggedIn = (backends: readonly BackendView[]): string =>
  `not logged in to ${withoutLogin(backends).map(named).join(', ')}`;

const named = ({ name, status, message }: BackendView): string => `${name} (${message ?? status})`;

const waitedFor = ({ unresolved }: Rendering): string =>
  [...missingOf(unresolved), ...invalidOf(unresolved).map((name) => `a usable ${name}`)].join(', ');

const missingOf = (open: Rendering['unresolved']): readonly string[] =>
  names(open.filter(({ invalid }) => invalid === undefined));

const invalidOf = (open: Rendering['unresolved']): readonly string[] =>
  names(open.filter(({ invalid }) => invalid !== undefined));

/** Why a spec may not be served. */
const whyNot = ({ refusals, unresolved }: Rendering): string => {
  if (refusals.length > 0) return refusalText(refusals);
  return [...told(missingOf(unresolved), 'not found'), ...told(invalidOf(unresolved), 'cannot be used')].join('; ');
};

const told = (named: readonly string[], words: string): readonly string[] =>
  named.length === 0 ? [] : [`${named.join(', ')} ${words}`];

/** All messages in one. */
export const refusalText = (refusals: readonly { readonly message: string }[]): string =>
  refusals.map(({ message }) => message).join('; ');

/*
 * What the cluster should be, as pure functions: no clock, no randomness, no I/O. A plan holds the children, the config
 * files and the status of one object. Mistakes of users become conditions, never exceptions. This folder holds what
 * several kinds share, and the small kinds; server/ (VirtualMCPServer and whatever the runtime serves), front/ (a
 * runtime in front of one server), mcp-server/ and embedding-server/ use workload/ (pods and children).
 * Start with `Plan` below, then server/plan-served.ts.
 */

import type { KubeObject, ObjectKey } from '../object.ts';

/**
 * The desired state that one reconcile computes. Pure data: made by `plan(bundle, settings)` without clock, randomness
 * or I/O.
 */
export interface Plan {
  /**
   * Children in the order they must be applied, each with owner reference, labels and nothing the operator does not
   * mean; an owned child that is not among them is removed. Absent: leave the children that exist as they are.
   */
  readonly objects?: readonly KubeObject[];
  /** Generation of the spec that `objects` are made of, for kinds that keep it in their status. */
  readonly acceptedGeneration?: number;
  /**
   * Put right while the other children stay as they are: applied only where `objects` is absent, and nothing is
   * removed.
   */
  readonly repairs?: readonly KubeObject[];
  /**
   * The whole desired `status` of the object, conditions without `lastTransitionTime` (stamped when reported); absent:
   * leave it.
   */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Conditions that hold beside those of `status` as long as this child is not as planned. */
  readonly whileNotApplied?: readonly { readonly child: ObjectKey; readonly condition: PlannedCondition }[];
  /** One is recorded only when a condition with this reason and message is new. */
  readonly events: readonly PlannedEvent[];
  /**
   * The config files the runtime reads, by file name; absent for kinds without a runtime and while nothing may be
   * served.
   */
  readonly config?: ConfigFiles;
  /** Hash over those keys of `config` that cannot change live. */
  readonly startupHash?: string;
  /**
   * What the newest spec renders to although it may not be served (`Valid=False`): for people to read, never applied.
   */
  readonly withheld?: ConfigFiles;
  /** To be looked at again after so long even if nothing changes. */
  readonly requeueAfterMs?: number;
  /** How often the pods are asked for their report; absent: they are not asked. */
  readonly statusPollIntervalMs?: number;
}

/** File name (`config.yaml`, `backends.yaml`) → YAML text. */
export type ConfigFiles = Readonly<Record<string, string>>;

/** A Kubernetes event about the object that is planned. */
export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, the reason of the condition that says the same. */
  readonly reason: string;
  readonly message: string;
}

/** A condition as planned; `observedGeneration` and `lastTransitionTime` are added when it is reported. */
export interface PlannedCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/**
 * Keys of a status, at any depth, that alone are no reason to hurry, each with the number from which on that holds: a
 * smaller one is written at once. Texts always wait.
 */
export type VolatileKeys = ReadonlyMap<string, number>;

/**
 * What a phase becomes while a child is not as planned: what has not been made yet cannot come, what serves goes on.
 */
export type PhasesWithProblems = Readonly<Record<string, string>>;

/** Of a VirtualMCPServer. */
export const DEGRADING: PhasesWithProblems = { Ready: 'Degraded', Pending: 'Failed' };

/**
 * Of kinds whose `status.phase` has no word for what serves although something is wrong: conditions and the message
 * tell.
 */
export const WITHOUT_DEGRADED: PhasesWithProblems = { Pending: 'Failed', Stopped: 'Failed', Downloading: 'Failed' };

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import type { PlannedCondition } from '../../../operator/plan/plan.ts';
import { type ControlPlane, startControlPlane, until } from '../../cluster/index.ts';
import {
  type KindsUnderTest,
  type OperatorOptionsUnderTest,
  type OperatorUnderTest,
  countedWrites,
  installOperator,
  startOperatorUnderTest,
  untilQuiet,
} from './operator-under-test.ts';

/** Kind and name of an object in the namespace `default`. */
export type Named = readonly [kind: string, name: string];

/** What the status of any of our kinds may say. */
export interface StatusUnderTest {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly PlannedCondition[];
  readonly [field: string]: unknown;
}

/** A control plane with an operator in it, and what a user does there. */
export interface ClusterUnderTest {
  readonly plane: ControlPlane;
  readonly operator: OperatorUnderTest;
  readonly kubectl: ControlPlane['kubectl'];
  /** Ends the operator and starts another one. */
  readonly restartOperator: () => Promise<void>;
  readonly get: (...named: Named) => Promise<KubeObject>;
  readonly apply: (...items: readonly object[]) => Promise<string>;
  readonly remove: (...named: Named) => Promise<string>;
  readonly patch: (named: Named, type: 'json' | 'merge', change: object) => Promise<string>;
  readonly statusOf: (...named: Named) => Promise<StatusUnderTest>;
  readonly untilStatus: (
    what: string,
    named: Named,
    holds: (status: StatusUnderTest) => boolean,
  ) => Promise<StatusUnderTest>;
  /** The counted writes of the operator while this is done and until it rests, as `verb resource/subresource name`. */
  readonly writesDuring: (act: () => Promise<unknown>) => Promise<readonly string[]>;
}

/** For the tests of a file: starts before them, ends after them. Not to be asked for anything sooner. */
export const clusterUnderTest = (subject: KindsUnderTest, options: OperatorOptionsUnderTest = {}): ClusterUnderTest => {
  let started: { readonly plane: ControlPlane; readonly kubeconfig: string } | undefined;
  let operator: OperatorUnderTest | undefined;
  const here = () => started ?? assert.fail('the control plane is started before the tests');
  const start = async (): Promise<void> => {
    operator = await startOperatorUnderTest(here().kubeconfig, subject, options);
    await operator.synced;
  };
  before(async () => {
    const plane = await startControlPlane();
    started = { plane, kubeconfig: '' };
    started = { plane, kubeconfig: await installOperator(plane, subject) };
    await start();
  });
  after(async () => {
    await operator?.stop();
    await started?.plane.stop();
  });
  return {
    ...userOf(() => here().plane),
    get plane() {
      return here().plane;
    },
    get operator() {
      return operator ?? assert.fail('the operator is started before the tests');
    },
    restartOperator: async () => {
      await operator?.stop();
      await start();
    },
  };
};

const userOf = (plane: () => ControlPlane): Omit<ClusterUnderTest, 'plane' | 'operator' | 'restartOperator'> => {
  const get = async (...named: Named): Promise<KubeObject> =>
    JSON.parse(await plane().kubectl(['get', ...named, '-o', 'json'])) as KubeObject;
  const statusOf = async (...named: Named): Promise<StatusUnderTest> =>
    ((await get(...named))['status'] ?? {}) as StatusUnderTest;
  return {
    kubectl: (...args) => plane().kubectl(...args),
    get,
    statusOf,
    apply: (...items) =>
      plane().kubectl(
        ['apply', '--server-side', '--force-conflicts', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
      ),
    remove: (...named) => plane().kubectl(['delete', ...named]),
    patch: (named, type, change) =>
      plane().kubectl(['patch', ...named, `--type=${type}`, '-p', JSON.stringify(change)]),
    untilStatus: (what, named, holds) =>
      until(what, async () => {
        const status = await statusOf(...named);
        return holds(status) ? status : undefined;
      }),
    writesDuring: async (act) => {
      await untilQuiet(plane());
      const seen = (await countedWrites(plane())).length;
      await act();
      await untilQuiet(plane());
      return (await countedWrites(plane()))
        .slice(seen)
        .map(
          ({ verb, resource, subresource, name }) => `${verb} ${resource}${subresource && `/${subresource}`} ${name}`,
        );
    },
  };
};

/** An object of ours in the namespace `default`. */
export const made = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name },
  spec,
});

export const conditionIn = ({ conditions }: StatusUnderTest, wanted: string): PlannedCondition | undefined =>
  conditions?.find(({ type }) => type === wanted);

/** `True GroupFound` and its like; undefined where there is no such condition. */
export const verdictIn = (status: StatusUnderTest, wanted: string): string | undefined => {
  const found = conditionIn(status, wanted);
  return found && `${found.status} ${found.reason}`;
};

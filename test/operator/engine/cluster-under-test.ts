import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../cluster/index.ts';
import { type ClusterUser, clusterUser } from './cluster-user.ts';
import {
  type KindsUnderTest,
  type OperatorOptionsUnderTest,
  type OperatorUnderTest,
  contentFor,
  operatorKubeconfig,
  startOperatorUnderTest,
} from './operator-under-test.ts';

export const quickstart = join(import.meta.dirname, '../../../examples/quickstart/quickstart.yaml');

/** A control plane that an operator is installed in, and what a user does there. */
export interface InstalledCluster extends ClusterUser {
  /** To be awaited first in a `before` of the file: at its top level all of them start at once. */
  readonly ready: () => Promise<void>;
  readonly plane: ControlPlane;
  /** Path of the kubeconfig of the operator's account. */
  readonly kubeconfig: string;
  /** One that the test stops; what a failed test leaves is stopped after all tests. */
  readonly startOperator: (options?: OperatorOptionsUnderTest, kubeconfig?: string) => Promise<OperatorUnderTest>;
}

/** For the tests of a file: starts before them, ends after them. Not to be asked for anything sooner. */
export const installedCluster = (subject: KindsUnderTest): InstalledCluster => {
  let plane: ControlPlane | undefined;
  let kubeconfig: string | undefined;
  let starting: Promise<void> | undefined;
  const operators: OperatorUnderTest[] = [];
  const thePlane = () => plane ?? assert.fail('the control plane is started before the tests');
  const theKubeconfig = () => kubeconfig ?? assert.fail('the operator is installed before the tests');
  const start = async (): Promise<void> => {
    plane = await startControlPlane([], await contentFor(subject));
    kubeconfig = await operatorKubeconfig(plane, subject);
  };
  const ready = () => (starting ??= start());
  before(ready);
  after(async () => {
    await Promise.all(operators.map((operator) => operator.stop()));
    await plane?.stop();
  });
  return {
    ...clusterUser(thePlane),
    ready,
    get plane() {
      return thePlane();
    },
    get kubeconfig() {
      return theKubeconfig();
    },
    startOperator: async (options, path = theKubeconfig()) => {
      const operator = await startOperatorUnderTest(path, subject, options);
      operators.push(operator);
      return operator;
    },
  };
};

/** A control plane with an operator at work in it. */
export interface ClusterUnderTest extends Pick<InstalledCluster, 'ready' | 'plane'>, ClusterUser {
  readonly operator: OperatorUnderTest;
  /** Ends the operator and starts another one. */
  readonly restartOperator: () => Promise<void>;
}

/** As `installedCluster`, and the operator has seen everything before the tests begin. */
export const clusterUnderTest = (subject: KindsUnderTest): ClusterUnderTest => {
  const installed = installedCluster(subject);
  let operator: OperatorUnderTest | undefined;
  let starting: Promise<void> | undefined;
  const start = async (): Promise<void> => {
    operator = await installed.startOperator();
    await operator.synced;
  };
  const ready = () => (starting ??= installed.ready().then(start));
  before(ready);
  return {
    ...clusterUser(() => installed.plane),
    ready,
    get plane() {
      return installed.plane;
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

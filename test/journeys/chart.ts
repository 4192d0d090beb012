import { join } from 'node:path';
import { helm, type Node } from '../cluster/index.ts';

export const CHART = join(import.meta.dirname, '..', '..', 'charts', 'vmcp-operator');

/** The namespace of the operator. */
export const NAMESPACE = 'vmcp-system';

/** Installs the chart, or upgrades it, with the images of the tests, and waits until the operator is ready. */
export const installChart = async (node: Node, ...more: readonly string[]): Promise<void> => {
  const values = ['--values', join(import.meta.dirname, 'chart-values.yaml')];
  const where = ['--namespace', NAMESPACE, '--create-namespace', '--wait', '--timeout', '120s'];
  await helm(['upgrade', '--install', 'vmcp-operator', CHART, ...values, ...where, ...more], node.kubeconfig);
};

export const uninstallChart = async (node: Node): Promise<void> => {
  await helm(['uninstall', 'vmcp-operator', '--namespace', NAMESPACE, '--wait', '--timeout', '90s'], node.kubeconfig);
};

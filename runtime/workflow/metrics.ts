import { type Meter, OPERATION_SECONDS } from '../observe/index.ts';
import type { PlannedStep } from './plan.ts';
import type { StepResult } from './results.ts';

export interface WorkflowMetrics {
  /** One request of a client for a workflow: `waiting` ends with a question, and goes on with another one. */
  readonly ended: (of: {
    readonly workflow: string;
    readonly outcome: 'completed' | 'failed' | 'waiting';
    readonly ms: number;
  }) => void;
  readonly stepEnded: (of: {
    readonly type: PlannedStep['type'];
    readonly status: StepResult['status'];
    readonly ms: number;
  }) => void;
}

export const workflowMetrics = (meter: Meter): WorkflowMetrics => {
  const duration = meter.histogram({
    name: 'vmcp.workflow.duration',
    help: 'Time of the requests for composite tools; a workflow that asks takes several.',
    unit: 's',
    labels: ['vmcp.workflow.name', 'vmcp.workflow.outcome'],
    buckets: OPERATION_SECONDS,
  });
  const stepDuration = meter.histogram({
    name: 'vmcp.workflow.step.duration',
    help: 'Time of the steps of composite tools, with their repetitions.',
    unit: 's',
    labels: ['vmcp.workflow.step.type', 'vmcp.workflow.step.status'],
    buckets: OPERATION_SECONDS,
  });
  return {
    ended: ({ workflow, outcome, ms }) =>
      duration(ms / 1000, { 'vmcp.workflow.name': workflow, 'vmcp.workflow.outcome': outcome }),
    stepEnded: ({ type, status, ms }) =>
      stepDuration(ms / 1000, { 'vmcp.workflow.step.type': type, 'vmcp.workflow.step.status': status }),
  };
};

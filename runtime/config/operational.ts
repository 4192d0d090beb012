import * as z from 'zod';
import { duration, durationOr } from './durations.ts';
import { workloadNameSchema } from './scalars.ts';

const timeoutsSchema = z
  .strictObject({
    default: durationOr('30s', { positive: true }).describe(
      'Longest silence of a backend during a request; less than 1ms counts as 1ms.',
    ),
    perWorkload: z
      .record(workloadNameSchema, duration({ positive: true }))
      .default({})
      .describe('The same for single workloads.'),
  })
  .prefault({})
  .describe('Timeouts of backend requests.');

const circuitBreakerSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('Stops calling a backend that keeps failing: calls are refused at once.'),
    failureThreshold: z
      .int32()
      .min(1)
      .default(5)
      .describe('Failures in a row, of calls and checks, that open the circuit.'),
    timeout: durationOr('60s', { min: '1s' }).describe(
      'Time from the opening to the check that tries whether the circuit can close.',
    ),
  })
  .prefault({})
  .describe('Circuit breaker per backend.');

const failureHandlingSchema = z
  .strictObject({
    healthCheckInterval: durationOr('30s', { positive: true }).describe(
      'Time between health checks of a backend; less than 10ms counts as 10ms.',
    ),
    healthCheckTimeout: durationOr('10s', { positive: true }).describe(
      'Longest time of one health check; should be below the interval.',
    ),
    unhealthyThreshold: z
      .int32()
      .min(1)
      .default(3)
      .describe('Failed checks in a row before a backend is marked unhealthy.'),
    partialFailureMode: z
      .enum(['fail', 'best_effort'])
      .default('fail')
      .describe('With a backend down: fail the whole list request, or serve the rest.'),
    statusReportingInterval: durationOr('30s', { positive: true }).describe(
      'How often backend health and phase changes are reported; less than 1s counts as 1s.',
    ),
    circuitBreaker: circuitBreakerSchema,
  })
  .prefault({})
  .describe('What happens when backends fail.');

/** docs/configuration.md "operational" */
export const operationalSchema = z
  .strictObject({
    logLevel: z.enum(['debug', '']).optional().describe('Log level; empty means info.'),
    timeouts: timeoutsSchema,
    failureHandling: failureHandlingSchema,
  })
  .describe('Operational settings.');

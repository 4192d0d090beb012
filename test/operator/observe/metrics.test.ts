import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../../operator/observe/metrics.ts';
import type { Measured } from '../../../operator/observe/metrics.ts';

const metricsOf = (measured: Partial<Measured> = {}) =>
  createMetrics({ version: '1.2.3', kinds: ['MCPGroup'] }, { backlog: () => 3, phases: () => [], ...measured });

/** Samples of our own, without those of the buckets. */
const samples = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.startsWith('vmcp_') && !line.includes('_bucket'));

test('everything that is measured has the name and the labels that are documented', async () => {
  const metrics = metricsOf({ phases: () => ['Ready', 'Ready', 'Failed', undefined, 'Made up'] });
  metrics.work.reconciled('MCPGroup', 'written', 1500);
  metrics.work.failed('MCPGroup');
  metrics.work.waited(20);
  metrics.work.watchInterrupted('Pod');
  metrics.work.leads(true);
  metrics.calls({ verb: 'apply', kind: 'Service' }, 201, 40);
  metrics.calls({ verb: 'get', kind: 'Service' }, undefined, 10_000);
  metrics.reviews({ kind: 'MCPGroup', operation: 'CREATE' }, false);
  assert.deepEqual(samples(await metrics.text()), [
    'vmcp_operator_build_info{version="1.2.3"} 1',
    'vmcp_operator_queue_depth 3',
    'vmcp_operator_servers{phase="Pending"} 0',
    'vmcp_operator_servers{phase="Ready"} 2',
    'vmcp_operator_servers{phase="Degraded"} 0',
    'vmcp_operator_servers{phase="Failed"} 1',
    'vmcp_operator_servers{phase="Unknown"} 2',
    'vmcp_operator_reconciles_total{kind="MCPGroup",result="written"} 1',
    'vmcp_operator_reconcile_duration_seconds_sum{kind="MCPGroup"} 1.5',
    'vmcp_operator_reconcile_duration_seconds_count{kind="MCPGroup"} 1',
    'vmcp_operator_queue_wait_seconds_sum 0.02',
    'vmcp_operator_queue_wait_seconds_count 1',
    'vmcp_operator_retries_total{kind="MCPGroup"} 1',
    'vmcp_operator_watch_restarts_total{kind="Pod"} 1',
    'vmcp_operator_leader 1',
    'vmcp_operator_api_requests_total{verb="apply",kind="Service",code="201"} 1',
    'vmcp_operator_api_requests_total{verb="get",kind="Service",code="none"} 1',
    'vmcp_operator_api_request_duration_seconds_sum{verb="apply"} 0.04',
    'vmcp_operator_api_request_duration_seconds_count{verb="apply"} 1',
    'vmcp_operator_admission_reviews_total{kind="MCPGroup",operation="CREATE",allowed="false"} 1',
  ]);
});

test('a kind that a client makes up is no label of its own', async () => {
  const metrics = metricsOf();
  metrics.reviews({ kind: 'x'.repeat(1000), operation: 'CREATE' }, true);
  metrics.reviews({ kind: 'y', operation: 'CREATE' }, true);
  const review = 'vmcp_operator_admission_reviews_total{kind="other",operation="CREATE",allowed="true"} 2';
  assert.ok(samples(await metrics.text()).includes(review));
});

test('the process is measured too, and two of them in one process share nothing', async () => {
  const [one, other] = [metricsOf(), metricsOf()];
  one.work.leads(true);
  assert.match(await one.text(), /^process_resident_memory_bytes \d/m);
  assert.match(await other.text(), /^vmcp_operator_leader 0$/m);
  assert.match(one.contentType, /^text\/plain; version=0\.0\.4/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { crdManifests } from '../../crds/index.ts';
import { configSchema } from '../../runtime/config/index.ts';
import { covers } from '../requirements.ts';
import { durationMeanings } from './cases/durations.ts';

covers(
  'crd.duration.single-group',
  'crd.duration.multi-group',
  'crd.duration.decimal',
  'crd.duration.unit-ns',
  'crd.duration.unit-us',
  'crd.duration.unit-micro-sign',
  'crd.duration.unit-ms',
  'crd.duration.unit-s',
  'crd.duration.unit-m',
  'crd.duration.unit-h',
);
for (const [, text, milliseconds] of durationMeanings) {
  test(`a timeout of ${text}, which the API server accepts, is ${milliseconds} ms to the runtime`, () => {
    const { operational } = configSchema.parse({ operational: { timeouts: { default: text } } });
    assert.equal(operational.timeouts.default, milliseconds);
  });
}

interface Schema {
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

const DURATION = '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$';

const durationsIn = (schema: Schema, path: string): readonly string[] => {
  const { pattern, properties = {}, additionalProperties, items } = schema;
  return [
    ...(pattern === DURATION ? [path] : []),
    ...Object.entries(properties).flatMap(([name, child]) => durationsIn(child, `${path}.${name}`)),
    ...(additionalProperties === undefined ? [] : durationsIn(additionalProperties, `${path}.*`)),
    ...(items === undefined ? [] : durationsIn(items, `${path}[]`)),
  ];
};

/** Every field that is a duration, by where it is in a VirtualMCPServer. */
const fields = [
  'spec.authServerConfig.tokenLifespans.accessTokenLifespan',
  'spec.authServerConfig.tokenLifespans.refreshTokenLifespan',
  'spec.authServerConfig.tokenLifespans.authCodeLifespan',
  'spec.authServerConfig.storage.kvstore.dialTimeout',
  'spec.authServerConfig.storage.kvstore.readTimeout',
  'spec.authServerConfig.storage.kvstore.writeTimeout',
  'spec.config.compositeTools[].steps[].timeout',
  'spec.config.compositeTools[].steps[].onError.retryDelay',
  'spec.config.compositeTools[].steps[].step.timeout',
  'spec.config.compositeTools[].steps[].step.onError.retryDelay',
  'spec.config.compositeTools[].timeout',
  'spec.config.extensions.audit.batchMaxWait',
  'spec.config.extensions.authServer.refreshReuseWindow',
  'spec.config.extensions.heldCallTtl',
  'spec.config.extensions.optimizer.queryTimeout',
  'spec.config.extensions.sessionTtl',
  'spec.config.operational.timeouts.default',
  'spec.config.operational.timeouts.perWorkload.*',
  'spec.config.operational.failureHandling.healthCheckInterval',
  'spec.config.operational.failureHandling.healthCheckTimeout',
  'spec.config.operational.failureHandling.statusReportingInterval',
  'spec.config.operational.failureHandling.circuitBreaker.timeout',
  'spec.config.optimizer.embeddingServiceTimeout',
  'spec.config.rateLimiting.shared.refillPeriod',
  'spec.config.rateLimiting.perUser.refillPeriod',
  'spec.config.rateLimiting.tools[].shared.refillPeriod',
  'spec.config.rateLimiting.tools[].perUser.refillPeriod',
];

covers('crd.duration.all-fields');
test('every field called duration takes exactly the form whose refusals the API server test shows', () => {
  const server = crdManifests().find(({ metadata }) => metadata.name.startsWith('virtualmcpservers.'));
  const { versions } = (server ?? assert.fail('no such CRD'))['spec'] as {
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
  const spec = versions[0]?.schema.openAPIV3Schema.properties?.['spec'] ?? {};
  assert.deepEqual(durationsIn(spec, 'spec').toSorted(), fields.toSorted());
});

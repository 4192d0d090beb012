import { proven } from './rule.ts';

export const versioning = {
  'versioning.api-version': proven('`apiVersion` of every resource of the service is `{api_group}/v1beta1`.'),
  'versioning.config-telemetry.deprecated': proven('`config.telemetry` is deprecated for operator deployments in favour of `spec.telemetryConfigRef`.'),
};

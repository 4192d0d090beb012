/*
 * Every rule beyond what OpenAPI and CEL say in the CRDs. Rules are pure; each says path, reason and remedy. The
 * webhook refuses what breaks one, and the condition `Valid` reports it where the webhook is off. An object that a
 * reference does not find is no violation: it may come later.
 * Start with validator.ts, which says what a rule is, then the list `validators` below.
 */

import type { KubeObject } from '../object.ts';
import { backendUrls, remoteUrl } from './backend-url.ts';
import { contract } from './contract.ts';
import { authServerReference, embeddedAuthServer, serverWithAuthServer } from './embedded-auth-server.ts';
import { externalAuth } from './external-auth.ts';
import { forwardedHeaders } from './headers.ts';
import { oidcConfig } from './oidc-config.ts';
import { podTemplate } from './pod-template.ts';
import { policies } from './policies.ts';
import { reservedKeys } from './reserved-keys.ts';
import { stdioServer } from './stdio-server.ts';
import { telemetryConfig } from './telemetry-config.ts';
import { toolConfig } from './tool-config.ts';
import { unreadable } from './unreadable.ts';
import { type LookUp, MAX_VIOLATIONS, type Validator, type Violation } from './validator.ts';
import { workflows } from './workflows.ts';
import { workload } from './workload.ts';

export { movedIssuer } from './embedded-auth-server.ts';
export { deprecatedTelemetry } from './warnings.ts';
export { SUPERSEDED_KEYS, withoutSuperseded } from './contract.ts';
export { ignoredGuards } from './warnings.ts';
export { literalHeaderValues } from './warnings.ts';
export { ALLOW_DELETE, leftOutReason, unreadable, withoutSpec } from './unreadable.ts';
export { BRIDGE_TOKEN_VOLUME } from './bridged-pod.ts';
export { questionablePolicies } from './policies.ts';
export { questionableWorkflows } from './workflows.ts';
export { MAX_BRIDGED_PODS } from './stdio-server.ts';
export { type LookUp, type Validator, type Violation, violationText } from './validator.ts';

/**
 * Every rule beyond OpenAPI and CEL, once: admission refuses what breaks one, and conditions tell of it where admission
 * is off. A feature adds its rules with a line here.
 */
export const validators: readonly Validator[] = [
  reservedKeys,
  remoteUrl,
  backendUrls,
  forwardedHeaders,
  externalAuth,
  embeddedAuthServer,
  serverWithAuthServer,
  authServerReference,
  oidcConfig,
  telemetryConfig,
  toolConfig,
  podTemplate,
  workload,
  stdioServer,
  policies,
  workflows,
  // Last, so that the specific messages above win.
  contract,
];

/**
 * The violations of an object, in the order of the list, at most `MAX_VIOLATIONS`; of several at one path the first.
 */
export const violationsOf = (
  object: KubeObject,
  lookUp: LookUp,
  list: readonly Validator[] = validators,
): readonly Violation[] => {
  const deep = unreadable(object);
  if (deep !== undefined) return [deep];
  const found = list
    .filter(({ kinds }) => kinds === undefined || kinds.includes(object.kind))
    .flatMap(({ validate }) => validate(object, lookUp));
  const firsts = Map.groupBy(found, ({ path }) => path).values();
  return [...firsts.take(MAX_VIOLATIONS)].flatMap(([first]) => first ?? []);
};

import type { Rule } from './requirements/rule.ts';
import { aggregation } from './requirements/aggregation.ts';
import { audit } from './requirements/audit.ts';
import { authserver } from './requirements/authserver.ts';
import { authz } from './requirements/authz.ts';
import { crd } from './requirements/crd.ts';
import { endpoints } from './requirements/endpoints.ts';
import { errors } from './requirements/errors.ts';
import { health } from './requirements/health.ts';
import { incomingAuth } from './requirements/incoming-auth.ts';
import { limits } from './requirements/limits.ts';
import { operator } from './requirements/operator.ts';
import { optimizer } from './requirements/optimizer.ts';
import { outgoingAuth } from './requirements/outgoing-auth.ts';
import { ratelimit } from './requirements/ratelimit.ts';
import { session } from './requirements/session.ts';
import { status } from './requirements/status.ts';
import { telemetry } from './requirements/telemetry.ts';
import { versioning } from './requirements/versioning.ts';
import { workflow } from './requirements/workflow.ts';

/**
 * Every rule of the spec by its id: `proven` by the tests that cite it, or `later` with the area of work that will
 * build it.
 */
export const requirements: Readonly<Record<string, Rule>> = {
  ...versioning,
  ...crd,
  ...operator,
  ...endpoints,
  ...aggregation,
  ...incomingAuth,
  ...outgoingAuth,
  ...authserver,
  ...optimizer,
  ...health,
  ...session,
  ...telemetry,
  ...authz,
  ...workflow,
  ...audit,
  ...limits,
  ...ratelimit,
  ...status,
  ...errors,
};

/**
 * Marks the rules that the test right below proves. A pure marker: `requirements.test.ts` reads the literal ids from
 * the source.
 */
export const covers = (..._ids: readonly [string, ...string[]]): void => {};

/**
 * HTTP and MCP towards clients: the listeners, both protocol eras, sessions, held calls, and the table that turns an
 * error into a response (`error-response.ts`). It decides nothing about names, rights or backends; those come as
 * functions. Start at `endpoint.ts`, then `legacy.ts` (sessions) and `modern.ts` (2026-07-28).
 */

export { PendingClientRequests } from './pending-client-requests.ts';
export { type BegunCall, CallsUnderWay } from './calls-under-way.ts';
export { type Endpoint, type EndpointDeps, mcpEndpoint } from './endpoint.ts';
export { type Envelope, paramText, readEnvelope, requestIdIn } from './envelope.ts';
export { type Eras, parseByEra } from './era.ts';
export { EventLogs } from './event-log.ts';
export { preflight, type PublicRoutes } from './guarded-routes.ts';
export { HeldCalls } from './held-calls.ts';
export { RemoteHeldCalls } from './remote-held-calls.ts';
export { hostCheck, type HostRules } from './hosts.ts';
export { legacyEra } from './legacy.ts';
export { Listeners, type MayWatch } from './listen.ts';
export { listChangedNotifications } from './list-changed.ts';
export type { ListingClient } from './listing-client.ts';
export { managementServer } from './management-server.ts';
export { modernEra } from './modern.ts';
export type { OperatorTokenSettings } from './operator-token.ts';
export { protectedResourceRoutes } from './protected-resource-routes.ts';
export { type PublicParts, publicServer, type PublicServerDeps } from './public-server.ts';
export { headOf, pathOf } from './route-request.ts';
export { requestKey } from './request-id.ts';
export { noSuchSession } from './sessions.ts';
export { Sessions } from './sessions.ts';
export { type SignInLadder, type SignInLadderDeps, type SignInOffer, type SignIns, signInLadder } from './sign-in.ts';
export { slackMs } from './held-session.ts';
export { SharedSessions } from './shared-sessions.ts';
export { SseConnections } from './sse-connections.ts';
export { errorResponse } from './error-response.ts';

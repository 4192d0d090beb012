import { later, proven } from './rule.ts';

export const authz = {
  'authz.absent.no-policies': later('policy', 'Without `authzConfig` no policy is evaluated.'),
  'authz.source.config-map': later('policy', 'With type `configMap` the authorization configuration is read from the named ConfigMap.'),
  'authz.source.config-map.custom-key': later('policy', '`authzConfig.configMap.key` selects the ConfigMap entry that holds the configuration.'),
  'authz.source.inline': later('policy', 'With type `inline` the authorization configuration is taken from `authzConfig.inline`.'),
  'authz.policies.cedar-language': later('policy', 'Entries of `authzConfig.inline.policies` are written in the `cedar` policy language.'),
  'authz.entities-json.default-empty': later('policy', '`authzConfig.inline.entitiesJson` defaults to `[]`, an empty entity list.'),
  'authz.entities-json.used': later('policy', '`authzConfig.inline.entitiesJson` is a JSON string of entities used in policy evaluation.'),
  'authz.primary-upstream.claims': later('policy', 'With `primaryUpstreamProvider` set, policies see the claims of that upstream provider\'s access token.'),
  'authz.primary-upstream.inline-only': later('policy', '`primaryUpstreamProvider` is honoured only when `authzConfig.type` is `inline`.'),
  'authz.primary-upstream.default-first': later('policy', 'When `primaryUpstreamProvider` is empty and the embedded authorization server has upstreams, the first upstream provider is used.'),
  'authz.primary-upstream.must-match': later('policy', '`primaryUpstreamProvider` must name an entry of `spec.authServerConfig.upstreamProviders`.'),
  'authz.config.type-cedar': later('policy', '`authz.type: cedar` evaluates the entries of `authz.policies` (string[]).'),
  'authz.config.type-none': later('policy', '`authz.type: none` evaluates no policy.'),
  'authz.config.primary-upstream.claims': later('policy', '`config.incomingAuth.authz.primaryUpstreamProvider` names the upstream whose access token supplies the claims for policy evaluation.'),
  'authz.config.primary-upstream.empty-issued-token': later('policy', 'With `config.incomingAuth.authz.primaryUpstreamProvider` empty, the claims of the issued token are used.'),
  'authz.config.primary-upstream.must-match': proven('`config.incomingAuth.authz.primaryUpstreamProvider` must match an embedded-server upstream name.'),
  'authz.config.primary-upstream.embedded-only': later('policy', '`config.incomingAuth.authz.primaryUpstreamProvider` is relevant only with the embedded server.'),
  'incoming.anonymous.no-access-control': later('policy', '`incomingAuth.type: anonymous` disables all access control, authorization policies included.'),
  'incoming.policies-before-forward': later('policy', 'Authorization policies are evaluated before the request is forwarded.'),
};

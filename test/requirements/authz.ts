import { proven } from './rule.ts';

export const authz = {
  'authz.absent.no-policies': proven('Without `authzConfig` no policy is evaluated.'),
  'authz.source.config-map': proven('With type `configMap` the authorization configuration is read from the named ConfigMap.'),
  'authz.source.config-map.custom-key': proven('`authzConfig.configMap.key` selects the ConfigMap entry that holds the configuration.'),
  'authz.source.inline': proven('With type `inline` the authorization configuration is taken from `authzConfig.inline`.'),
  'authz.policies.cedar-language': proven('Entries of `authzConfig.inline.policies` are written in the `cedar` policy language.'),
  'authz.entities-json.default-empty': proven('`authzConfig.inline.entitiesJson` defaults to `[]`, an empty entity list.'),
  'authz.entities-json.used': proven('`authzConfig.inline.entitiesJson` is a JSON string of entities used in policy evaluation.'),
  'authz.primary-upstream.claims': proven('With `primaryUpstreamProvider` set, policies see the claims of that upstream provider\'s access token.'),
  'authz.primary-upstream.inline-only': proven('`primaryUpstreamProvider` is honoured only when `authzConfig.type` is `inline`.'),
  'authz.primary-upstream.default-first': proven('When `primaryUpstreamProvider` is empty and the embedded authorization server has upstreams, the first upstream provider is used.'),
  'authz.primary-upstream.must-match': proven('`primaryUpstreamProvider` must name an entry of `spec.authServerConfig.upstreamProviders`.'),
  'authz.config.type-cedar': proven('`authz.type: cedar` evaluates the entries of `authz.policies` (string[]).'),
  'authz.config.type-none': proven('`authz.type: none` evaluates no policy.'),
  'authz.config.primary-upstream.claims': proven('`config.incomingAuth.authz.primaryUpstreamProvider` names the upstream whose access token supplies the claims for policy evaluation.'),
  'authz.config.primary-upstream.empty-issued-token': proven('With `config.incomingAuth.authz.primaryUpstreamProvider` empty, the claims of the issued token are used.'),
  'authz.config.primary-upstream.must-match': proven('`config.incomingAuth.authz.primaryUpstreamProvider` must match an embedded-server upstream name.'),
  'authz.config.primary-upstream.embedded-only': proven('`config.incomingAuth.authz.primaryUpstreamProvider` is relevant only with the embedded server.'),
  'incoming.anonymous.no-access-control': proven('`incomingAuth.type: anonymous` disables all access control, authorization policies included.'),
  'incoming.policies-before-forward': proven('Authorization policies are evaluated before the request is forwarded.'),
};

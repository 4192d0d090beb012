import { proven } from './rule.ts';

export const session = {
  'session.horizontal-scaling': proven('Shared session storage lets several replicas serve one client session.'),
  'session.absent.none-configured': proven('Without `spec.sessionStorage` no session storage is configured.'),
  'session.provider.memory': proven('Provider `memory` keeps sessions in the memory of the process.'),
  'session.provider.kvstore': proven('Provider `kvstore` keeps sessions in the networked key-value store.'),
  'session.kvstore.address-used': proven('`sessionStorage.address` is the address of the store server that is contacted.'),
  'session.kvstore.db-selected': proven('`sessionStorage.db` is the number of the store database in use.'),
  'session.kvstore.key-prefix': proven('`sessionStorage.keyPrefix`, optional, is put before all keys.'),
  'session.kvstore.password-ref-used': proven('The password for the store is the secret value named by `sessionStorage.passwordRef`.'),
  'session.config.password-env': proven('The password of `config.sessionStorage` is taken from the environment variable `<PREFIX>_SESSION_KVSTORE_PASSWORD`.'),
  'session.operator.password-env-from-secret': proven('The operator hands the `passwordRef` secret to the pod as `<PREFIX>_SESSION_KVSTORE_PASSWORD`, not in the configuration text.'),
  'session.config.key-prefix': proven('`config.sessionStorage.keyPrefix`, optional, is put before all keys.'),
};

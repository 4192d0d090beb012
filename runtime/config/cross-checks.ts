import type { Finding } from './explain.ts';
import { networksOf } from './networks.ts';
import { resourceUrlIn } from './resource-identifier.ts';
import { isRecord } from './schema-walk.ts';
import { otlpEndpoint } from './telemetry.ts';
import { credentialHeadersAreFree, strategiesIn } from './credential-headers.ts';
import { everyStrategy } from './strategies/index.ts';
import { supportedScopes } from './supported-scopes.ts';
import { signInsAreOfProviders, upstreamsCanBeAsked } from './upstream-checks.ts';

/**
 * Rules across sections of `file`; `main` is the file that has the sections of the whole server (`file` itself, or the
 * one beside
 * `backends.yaml`). They take values as written, because sections with problems of their own must not hide these. In
 * the cluster
 * the operator checks the same against the resources.
 */
export function crossChecks(file: unknown, main: unknown): readonly Finding[] {
  if (!isRecord(file)) return [];
  return [
    ...perUserNeedsUsers(file),
    ...providersExist(file, main),
    ...storeFitsStorage(file),
    ...issuersDiffer(file),
    ...issuedTokensAreAccepted(file),
    ...baselineIsSupported(file),
    ...resourceIsPublic(file),
    ...otlpCanBeSent(file),
    ...credentialHeadersAreFree(file),
    ...upstreamsCanBeAsked(file),
    ...signInsAreOfProviders(file),
  ];
}

/** RFC 1918, RFC 6598, RFC 4193; link-local addresses (RFC 3927, RFC 4291 §2.5.6). */
const isPrivateAddress = networksOf([
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
]);

type Fields = Readonly<Record<string, unknown>>;

/** Most names listed in one finding. */
const MOST_NAMED = 10;

const field = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);

/** `perUser` of docs/configuration.md "rateLimiting" needs to know who calls. */
function* perUserNeedsUsers(file: Fields): Generator<Finding> {
  if (field(file['incomingAuth'], 'type') !== 'anonymous') return;
  const limits = file['rateLimiting'];
  const words = {
    reason: 'a limit per user needs callers who are authenticated',
    remedy: 'set incomingAuth.type to oidc',
  };
  if (field(limits, 'perUser') !== undefined) yield { path: ['rateLimiting', 'perUser'], ...words };
  const tools = field(limits, 'tools');
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    if (field(tool, 'perUser') !== undefined) yield { path: ['rateLimiting', 'tools', index, 'perUser'], ...words };
  }
}

/** `iss` of a token picks the issuer, so each is named once. */
function* issuersDiffer(file: Fields): Generator<Finding> {
  const first = field(field(file['incomingAuth'], 'oidc'), 'issuer');
  const further = field(file['extensions'], 'issuers');
  for (const [index, each] of (Array.isArray(further) ? further : []).entries()) {
    if (first === undefined || field(each, 'issuer') !== first) continue;
    yield {
      path: ['extensions', 'issuers', index, 'issuer'],
      reason: 'this issuer is that of incomingAuth.oidc',
      remedy: 'name each issuer once',
    };
  }
}

/** `authServer` of docs/configuration.md: the tokens that it issues are those that are accepted. */
function* issuedTokensAreAccepted(file: Fields): Generator<Finding> {
  const issuer = field(file['authServer'], 'issuer');
  if (typeof issuer !== 'string') return;
  const type = field(file['incomingAuth'], 'type');
  if (type !== 'oidc') {
    const reason = 'nobody checks the tokens that it issues';
    yield { path: ['authServer'], reason, remedy: 'set incomingAuth.type to oidc, with the same issuer' };
    return;
  }
  const accepted = field(field(file['incomingAuth'], 'oidc'), 'issuer');
  if (accepted === undefined || accepted === issuer || !resourceUrlIn(issuer)) return;
  const reason = 'issues tokens of another issuer than incomingAuth.oidc accepts';
  yield { path: ['authServer', 'issuer'], reason, remedy: 'make both issuers the same' };
}

/** docs/decisions.md "Scopes of the authorization server" */
function* baselineIsSupported(file: Fields): Generator<Finding> {
  const baseline = field(file['authServer'], 'baselineClientScopes');
  if (!Array.isArray(baseline)) return;
  const supported = new Set(supportedScopes(file));
  for (const [index, scope] of baseline.entries()) {
    if (typeof scope !== 'string' || supported.has(scope)) continue;
    yield {
      path: ['authServer', 'baselineClientScopes', index],
      reason: `${scope} is no scope that this server supports`,
      remedy: `use ${[...supported].slice(0, MOST_NAMED).join(', ')}, or add it to the scopes of an upstream provider`,
    };
  }
}

/**
 * `protectedResourceAllowPrivateIp` of docs/configuration.md "incomingAuth"; loopback is for clients on one machine.
 */
function* resourceIsPublic(file: Fields): Generator<Finding> {
  const oidc = field(file['incomingAuth'], 'oidc');
  const resource = field(oidc, 'resource');
  if (typeof resource !== 'string' || field(oidc, 'protectedResourceAllowPrivateIp') === true) return;
  const host = URL.parse(resource)?.hostname.replaceAll(/^\[|\]$/g, '') ?? '';
  if (!isPrivateAddress(host)) return;
  yield {
    path: ['incomingAuth', 'oidc', 'resource'],
    reason: 'a resource at a private address is not allowed',
    remedy: 'write the URL under which clients reach this server',
  };
}

/** Settings that say how the store is reached need a store, and a Redis Cluster has one database. */
function* storeFitsStorage(file: Fields): Generator<Finding> {
  const [storage, store] = [file['sessionStorage'], field(file['extensions'], 'sessionStore')];
  if (store === undefined) return;
  if (field(storage, 'provider') !== 'kvstore') {
    yield {
      path: ['extensions', 'sessionStore'],
      reason: 'sessionStore says how a key-value store is reached, and sessionStorage names none',
      remedy: 'set sessionStorage.provider to kvstore',
    };
  }
  const db = field(storage, 'db');
  if (field(store, 'cluster') !== undefined && db !== undefined && db !== 0) {
    yield {
      path: ['sessionStorage', 'db'],
      reason: 'a cluster has database 0 only',
      remedy: 'remove db; keyPrefix keeps servers apart',
    };
  }
}

/** An endpoint that is an address, and headers that HTTP knows and that are not the exporter's own. */
function* otlpCanBeSent(file: Fields): Generator<Finding> {
  const telemetry = file['telemetry'];
  const endpoint = field(telemetry, 'endpoint');
  if (typeof endpoint === 'string') {
    const read = otlpEndpoint(endpoint, field(telemetry, 'insecure') === true);
    if ('reason' in read) yield { path: ['telemetry', 'endpoint'], ...read };
  }
  const seen = new Set<string>();
  for (const key of ['headers', 'headerFiles'] as const) {
    const headers = field(telemetry, key);
    for (const [name, value] of Object.entries(isRecord(headers) ? headers : {})) {
      const path = ['telemetry', key, name];
      const known = name.toLowerCase();
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
        yield { path, reason: 'is no header name', remedy: 'use letters, digits and hyphens' };
      else if (OTLP_HEADERS.has(known))
        yield { path, reason: 'belongs to the connection or to OTLP', remedy: 'use another header' };
      else if (seen.has(known)) yield { path, reason: 'is written twice', remedy: 'keep one of them' };
      if (key === 'headers' && typeof value === 'string' && /[^\t\x20-\x7e\x80-\xff]/.test(value))
        yield { path, reason: 'has characters that no header has', remedy: 'write it in printable ASCII, on one line' };
      seen.add(known);
    }
  }
}

/** RFC 9110 §7.6.1, and the headers that say what an export is. */
const OTLP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * `primaryUpstreamProvider` and `upstreamInject.providerName` must match an upstream of the embedded server:
 * docs/configuration.md "authServer"
 */
function* providersExist(file: Fields, main: unknown): Generator<Finding> {
  const upstreams = field(field(main, 'authServer'), 'upstreamProviders');
  const names = new Set((Array.isArray(upstreams) ? upstreams : []).map((each) => field(each, 'name')));
  const known = [...names].filter((each) => typeof each === 'string').slice(0, MOST_NAMED);
  for (const { path, name } of providersNamed(file)) {
    if (typeof name !== 'string' || names.has(name)) continue;
    const reason = `no upstream provider is called ${JSON.stringify(name)}`;
    const remedy = known.length > 0 ? `name one of ${known.join(', ')}` : 'add it to authServer.upstreamProviders';
    yield { path, reason, remedy };
  }
}

function* providersNamed(file: Fields): Generator<{ readonly path: readonly PropertyKey[]; readonly name: unknown }> {
  const authz = field(file['incomingAuth'], 'authz');
  const primary = 'primaryUpstreamProvider';
  yield { path: ['incomingAuth', 'authz', primary], name: field(authz, primary) };
  for (const { path, strategy } of strategiesIn(file['outgoingAuth'])) {
    for (const [block, { provider }] of everyStrategy) {
      if (provider !== undefined)
        yield { path: [...path, block, provider], name: field(field(strategy, block), provider) };
    }
  }
}

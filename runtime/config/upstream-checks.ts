import type { Finding } from './explain.ts';
import { HEADER_NAME, HEADER_VALUE } from './header-fields.ts';
import { isRecord } from './schema-walk.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What no schema of a resource can say about `upstreamProviders` of docs/configuration.md "authServer". */
export function* upstreamsCanBeAsked(file: Fields): Generator<Finding> {
  const authServer = file['authServer'];
  const providers = isRecord(authServer) ? authServer['upstreamProviders'] : undefined;
  for (const [index, provider] of (Array.isArray(providers) ? providers : []).entries()) {
    const at = (...path: readonly PropertyKey[]): readonly PropertyKey[] => [
      'authServer',
      'upstreamProviders',
      index,
      ...path,
    ];
    const blocks = [
      ['oidcConfig', 'userInfoOverride'],
      ['oauth2Config', 'userInfo'],
    ] as const;
    for (const [block, key] of blocks)
      yield* headersCanBeSent(recordAt(provider, block, key, 'additionalHeaders'), at(block, key, 'additionalHeaders'));
    for (const block of ['identityFromToken', 'tokenResponseMapping'])
      yield* pathsAreKnown(recordAt(provider, 'oauth2Config', block), at('oauth2Config', block));
  }
}

/** `extensions.authServer.upstreams` names providers, and the first one is asked at each login. */
export function* signInsAreOfProviders(file: Fields): Generator<Finding> {
  const providers = recordAt(file, 'authServer')['upstreamProviders'];
  const names = (Array.isArray(providers) ? providers : []).map((each: unknown) => recordAt({ each }, 'each')['name']);
  for (const [name, settings] of Object.entries(recordAt(file, 'extensions', 'authServer', 'upstreams'))) {
    const path = ['extensions', 'authServer', 'upstreams', name];
    if (!names.includes(name)) {
      const reason = `no upstream provider is called ${JSON.stringify(name)}`;
      yield { path, atKey: true, reason, remedy: 'use the name of one of authServer.upstreamProviders' };
    } else if (names[0] === name && recordAt({ settings }, 'settings')['signIn'] === 'onDemand') {
      const reason = 'the first provider says who the user is, so it is asked at each login';
      yield { path: [...path, 'signIn'], reason, remedy: 'write atLogin, or put another provider first' };
    }
  }
}

const recordAt = (value: unknown, ...path: readonly string[]): Fields => {
  const found = path.reduce((each, key) => (isRecord(each) ? each[key] : undefined), value);
  return isRecord(found) ? found : {};
};

/** What the connection sets itself (RFC 9110 §7.6.1), and the access token's header. */
const RESERVED: ReadonlySet<string> = new Set([
  '__proto__',
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function* headersCanBeSent(headers: Fields, path: readonly PropertyKey[]): Generator<Finding> {
  for (const [name, value] of Object.entries(headers)) {
    const at = { path: [...path, name] };
    if (!HEADER_NAME.test(name))
      yield { ...at, atKey: true, reason: 'no header name', remedy: 'use letters, digits and hyphens' };
    else if (RESERVED.has(name.toLowerCase()))
      yield { ...at, atKey: true, reason: `${name} belongs to the request itself`, remedy: 'use another header' };
    if (typeof value === 'string' && !HEADER_VALUE.test(value))
      yield { ...at, reason: 'not a header value', remedy: 'write it in printable characters, on one line' };
  }
}

const MODIFIER = /(?:^|[.|])(@(?!upstreamjwt(?:$|[.|]))[^.|]*)/;

function* pathsAreKnown(paths: Fields, path: readonly PropertyKey[]): Generator<Finding> {
  for (const [key, text] of Object.entries(paths)) {
    const unknown = typeof text === 'string' ? MODIFIER.exec(text)?.[1] : undefined;
    if (unknown !== undefined)
      yield {
        path: [...path, key],
        reason: `there is no modifier ${unknown}`,
        remedy: String.raw`use @upstreamjwt, or write \@ where the name of a member begins so`,
      };
  }
}

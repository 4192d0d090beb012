/** Longest redirect URI that is taken, in characters. */
export const MAX_REDIRECT_URI_CHARACTERS = 1_024;

/** Where a browser ends up that is sent to a redirect URI. */
export type Destination =
  /** A web site, by its host and port; a host with other characters than ASCII is in punycode. */
  | { readonly kind: 'site'; readonly host: string }
  /** A program that listens on the user's own machine (RFC 8252 §7.3). */
  | { readonly kind: 'loopback'; readonly host: string }
  /** A program that the operating system starts for this scheme (RFC 8252 §7.1). */
  | { readonly kind: 'private-use'; readonly scheme: string };

/** The host names of loopback that clients register, as they write them; any port (RFC 8252 §7.3). */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?(?=[/?]|$)/i;

/** Schemes of which a browser or an operating system does more than hand the URI to the program that registered it. */
const UNSAFE_SCHEMES: ReadonlySet<string> = new Set([
  // A browser runs or shows something.
  'about',
  'blob',
  'chrome',
  'data',
  'feed',
  'file',
  'filesystem',
  'jar',
  'javascript',
  'resource',
  'vbscript',
  'view-source',
  // A server of the client's choice is asked, by some systems with the credentials of their user.
  'afp',
  'cifs',
  'dav',
  'davs',
  'ftp',
  'ftps',
  'gopher',
  'ldap',
  'ldaps',
  'nfs',
  'sftp',
  'smb',
  'ssh',
  'telnet',
  'webdav',
  'ws',
  'wss',
  // A part of the system acts on the rest of the URI.
  'intent',
  'itms-services',
  'mailto',
  'search-ms',
  'shell',
  'sms',
  'tel',
]);

/** Of Windows and Office: settings, installers, documents to open. A broker of logins is the one that clients have. */
const OF_WINDOWS = /^ms-(?!appx-web$)/;

/**
 * Why a client may not register this redirect URI, as a sentence for its author; undefined where it may. HTTPS to any
 * host, HTTP to loopback, and private-use schemes are taken.
 */
export const redirectUriRefusal = (uri: string): string | undefined => {
  if (uri.length > MAX_REDIRECT_URI_CHARACTERS)
    return `a redirect URI is longer than ${MAX_REDIRECT_URI_CHARACTERS} characters`;
  // What the URL parser would correct in silence (URL Standard, "URL parsing") must not be read in two ways.
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\"<>^`{|}]/.test(uri))
    return 'a redirect URI has characters that no URI may have';
  const url = URL.parse(uri);
  if (!url) return 'a redirect URI is no absolute URI';
  if (uri.includes('#')) return 'a redirect URI has a fragment (RFC 6749 §3.1.2)';
  if (uri.includes('*')) return 'a redirect URI has a wildcard; each is compared as a whole';
  if (/^[^/?]*\/\/[^/?]*@/.test(uri)) return 'a redirect URI has user information';
  const scheme = url.protocol.slice(0, -1);
  if (scheme === 'https') return httpsRefusal(uri, url);
  if (scheme === 'http')
    return LOOPBACK.test(uri) ? undefined : 'a redirect URI with http:// is not on localhost, 127.0.0.1 or [::1]';
  return UNSAFE_SCHEMES.has(scheme) || OF_WINDOWS.test(scheme) ? `a redirect URI has the scheme ${scheme}:` : undefined;
};

const httpsRefusal = (uri: string, { hostname }: URL): string | undefined => {
  if (!/^https:\/\/[^/?]/i.test(uri)) return 'a redirect URI with https: names no host';
  // A native client may not have it (OpenID Connect Dynamic Client Registration §2), and no web client has a reason to.
  return isLoopbackName(hostname) ? 'a redirect URI on loopback has to begin with http://' : undefined;
};

const isLoopbackName = (hostname: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);

/** Of a redirect URI that was not refused. */
export const destinationOf = (uri: string): Destination => {
  const { protocol, host, hostname } = new URL(uri);
  if (protocol === 'https:') return { kind: 'site', host };
  if (protocol === 'http:') return { kind: 'loopback', host: hostname };
  return { kind: 'private-use', scheme: protocol.slice(0, -1) };
};

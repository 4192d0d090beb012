/** What stands in place of a secret. */
export const REDACTED = '[redacted]';

/** docs/audit.md "What is redacted": parts of the names of members, of letters and digits alone. */
const SECRET_KEY =
  /password|passwd|pwd|passphrase|passcode|secret|apikey|accesskey|privatekey|signingkey|encryptionkey|credential|authorization|cookie|bearer|jwt|assertion|codeverifier|sessionid|taskid|requeststate|connectionstring/;
const SECRET_KEYS: ReadonlySet<string> = new Set(['auth', 'pin', 'otp', 'cvv', 'cvc', 'ssn']);
/** Such a member may also be a number of tokens, which is no secret. */
const TOKEN_KEY = /tokens?$/;
/** Marks in a list, and the name of a progress report (MCP "Progress"). */
const NO_SECRETS: ReadonlySet<string> = new Set([
  'progresstoken',
  'pagetoken',
  'nextpagetoken',
  'continuationtoken',
  'nexttoken',
]);

export type Secrecy = 'secret' | 'secret-unless-number' | 'open';

/** Letters of other scripts that look like Latin ones. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: 'a',
    е: 'e',
    о: 'o',
    р: 'p',
    с: 'c',
    х: 'x',
    у: 'y',
    ѕ: 's',
    і: 'i',
    ј: 'j',
    к: 'k',
    ԁ: 'd',
    ո: 'n',
    ο: 'o',
    α: 'a',
    ρ: 'p',
    ν: 'v',
    ı: 'i',
  }),
);

/** Longest name of a member that is looked at. */
const MAX_KEY = 256;

/** A name as names are compared: letters and digits, in lower case, look-alikes as what they look like. */
export const comparableKey = (key: string): string => {
  const folded = key.slice(0, MAX_KEY).normalize('NFKC').toLowerCase();
  return folded
    .replaceAll(/[\u0080-\uffff]/g, (letter) => LOOKALIKES.get(letter) ?? letter)
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
};

/** Decides by the name of a member whether its value is a secret. `further`: names that the configuration adds. */
export const secrecyOfKeys = (further: readonly string[]): ((key: string) => Secrecy) => {
  const own = new Set(further.map(comparableKey));
  const decide = (key: string): Secrecy => {
    const name = comparableKey(key);
    if (own.has(name)) return 'secret';
    if (NO_SECRETS.has(name)) return 'open';
    if (SECRET_KEY.test(name) || SECRET_KEYS.has(name)) return 'secret';
    return TOKEN_KEY.test(name) ? 'secret-unless-number' : 'open';
  };
  // The same few names come again and again.
  const known = new Map<string, Secrecy>();
  return (key) => {
    if (key.length > MAX_KNOWN_KEY) return decide(key);
    const before = known.get(key);
    if (before) return before;
    if (known.size >= MOST_KNOWN_KEYS) known.clear();
    const secrecy = decide(key);
    known.set(key, secrecy);
    return secrecy;
  };
};

const MAX_KNOWN_KEY = 64;
const MOST_KNOWN_KEYS = 1_000;

/**
 * Secrets that show by their form, wherever they are in a text. Each pattern is linear in the length of the text, also
 * where the text was written to be slow.
 */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  // JWS and JWE in compact form begin with `{"` in base64url (RFC 7519 §3.1).
  [/\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,4}/g, REDACTED],
  [/\b(Bearer|DPoP|Negotiate)(\s{1,8})[^\s"',;]{6,}/gi, `$1$2${REDACTED}`],
  [/\b(Basic)(\s{1,8})(?=[a-z/]{0,32}[A-Z0-9+=])[A-Za-z0-9+/=]{8,}/g, `$1$2${REDACTED}`],
  [/-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,32}PRIVATE KEY-----)?/g, REDACTED],
  [
    /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{8,}|sk-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|npm_[A-Za-z0-9]{20,}|hvs\.[\w-]{16,})/g,
    REDACTED,
  ],
  [/(:\/\/)[^\s/@:"']{0,256}:[^\s/@"']{1,256}@/g, `$1${REDACTED}@`],
  [
    /((?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie|assertion|code_verifier|signature)s?["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4})(?:(?:Bearer|Basic|DPoP|Negotiate)\s{1,4})?[^\s"'\\,;&}{)\](]+/gi,
    `$1${REDACTED}`,
  ],
];

/** Texts in which one of the shapes may be; the usual text has none of these. */
const MAY_HOLD_SECRET =
  /eyJ|bearer|dpop|negotiate|basic|PRIVATE KEY|gh[pousr]_|github_pat_|glpat-|xox|sk-|AKIA|ASIA|AIza|npm_|hvs\.|:\/\/|pass|pwd|secret|token|key|credential|authorization|cookie|assertion|verifier|signature/i;

/** The text with secrets replaced. */
export const redactedText = (text: string): string =>
  MAY_HOLD_SECRET.test(text) ? SHAPES.reduce((rest, [shape, by]) => rest.replaceAll(shape, by), text) : text;

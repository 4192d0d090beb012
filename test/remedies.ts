/** What a remedy is, and when it makes somebody less safe: for `remedies.test.ts`. */
export interface Remedy {
  /** What the message is about: a path, or the name of a field. */
  readonly subject: string;
  readonly remedy: string;
}

/** Whether somebody who does what the remedy says ends up with less authentication, or with a guard less. */
export const recommendsLess = ({ subject, remedy }: Remedy): boolean =>
  WAYS_ROUND.some((way) => way.test(remedy)) ||
  removalsIn(remedy).some(({ what }) => GUARD.test(PRONOUN.test(what) ? subject : what));

export interface Removal {
  /** As written, e.g. `remove perUser`. */
  readonly clause: string;
  /** What is removed, e.g. `perUser` or `it`. */
  readonly what: string;
}

/** Everything that a text recommends to remove or to switch off. */
export const removalsIn = (text: string): readonly Removal[] =>
  [...text.replaceAll(/\$\{[^}]*\}/g, '…').matchAll(LESS)].map(({ 0: clause, groups }) => ({
    clause: clause.trim(),
    what: (groups?.['what'] ?? '').trim(),
  }));

/** Names of what keeps somebody out, proves who somebody is, or protects what is sent. */
const GUARD =
  /auth(?!orizationparams)|token|oidc|jwks|polic|cedar|per ?user|limit|credential|secret|password|tls|https|caBundle|caFile|certificate|headerInjection|cloudSts|upstreamInject|issuer|audience|scopes|operatorKeys|audit|runAsNonRoot/i;

const LESS =
  /\b(?:remove|drop|delete|omit|unset|disable|do without|(?:switch|turn) off|leave(?= [^;,]*\bout\b)|leave out)\b(?<what>[^;,'`\\]*)/g;

/** Stands for the subject; `…` for what the program puts in. */
const PRONOUN = /^(?:it|them|some|one|…|the (?:key|field|value|list|block))?(?: (?:here|out))?$/i;

/** Ways to have less of a guard without any word for removing it. */
const WAYS_ROUND = [
  /\banonymous\b|\bunauthenticated\b/i,
  /\bchoose another\b/i,
  /\binsecure(?!\w* to false)|AllowPrivateIp\b/i,
  /\bhttp:\/\/(?! or https:\/\/| only|, host| and a host)/i,
  /\bto (?:false|none|off)\b(?<!insecure to false)/i,
  /\b\w+: (?:false|none|off)\b/i,
];

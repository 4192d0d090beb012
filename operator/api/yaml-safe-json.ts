/**
 * JSON that reads the same as YAML, as which the API server reads what is applied (`application/apply-patch+yaml`).
 * JSON may hold characters that YAML refuses or folds into others (YAML 1.2, 5.1 "Character Set" and 5.4 "Line Break
 * Characters"): they are written as escapes. Half of a surrogate pair is no character in YAML; it becomes U+FFFD, as
 * the API server makes of it in JSON.
 */
export const yamlSafeJson = (value: unknown): string => {
  const json = JSON.stringify(value);
  const escaped = SPECIAL.test(json) ? json.replace(EVERY_SPECIAL, escapeOf) : json;
  return escaped.includes(HALF_PAIR) ? escaped.replace(EVERY_ESCAPE, wholeCharacter) : escaped;
};

/**
 * DEL and C1, which has NEL; the separators of lines and paragraphs; the byte order mark; what is no character. C0 is
 * escaped in JSON anyway.
 */
const SPECIAL = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const EVERY_SPECIAL = new RegExp(SPECIAL, 'g');

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * `JSON.stringify` leaves whole pairs as they are; what looks like a half may still be text after an escaped backslash.
 */
const HALF_PAIR = String.raw`\ud`;
const EVERY_ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;

const wholeCharacter = (escape: string): string => (/^\\ud[89a-f]/.test(escape) ? '\ufffd' : escape);

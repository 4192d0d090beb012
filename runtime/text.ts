/** Compares by UTF-16 code units, so that the order depends on no locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Longest text from outside in a log line or a status. */
const MAX_TEXT_LENGTH = 200;

/** A text from outside, cut to `most` characters, as its sender determines its length. */
export const clipped = (text: string, most = MAX_TEXT_LENGTH): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;

/** A text from outside for a terminal: control characters, which could move its cursor, are shown as blanks. */
export const printable = (text: string): string => text.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ');

/** Longest text of a stranger in a log line or a status. */
const MOST = 200;

/** A text from outside, cut to what a reader can use: whoever sends it decides how long it is. */
export const clipped = (text: string, most = MOST): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;

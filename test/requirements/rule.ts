/** A rule of the spec, in one sentence, and whether a test proves it today. */
export type Rule =
  | { readonly state: 'proven'; readonly text: string }
  | { readonly state: 'later'; readonly area: string; readonly text: string };

/** A rule at least one test cites with `covers(id)`. */
export const proven = (text: string): Rule => ({ state: 'proven', text });

/** A rule no test proves yet, and the area of work that will. */
export const later = (area: string, text: string): Rule => ({ state: 'later', area, text });

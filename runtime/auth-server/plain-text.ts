/**
 * Characters that change how the text around them is read, or show nothing: controls, line and paragraph separators,
 * directional formatting (Unicode Standard Annex #9 §2), joiners, tags, variation selectors, fillers, lone surrogates.
 */
const NOT_PLAIN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]+/gu;

/** Of JavaScript's own, U+FEFF is left out, which shows nothing. */
const WHITE_SPACE = /[\t\n\v\f\r\p{Z}]+/gu;

/** More combining marks than any script stacks on one letter; more would be drawn over the lines around. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu;

/**
 * A text of a stranger as one line that reads as it is written: other characters are left out, white space is one
 * space, and what is longer than `maxCharacters` code points ends in an ellipsis. Not escaped for HTML.
 */
export const plainText = (text: string, maxCharacters: number): string => {
  // Cut first: the expressions below then have little to do, whatever the length of the text.
  const start = text.slice(0, maxCharacters * 4);
  const spaced = start.replaceAll(WHITE_SPACE, ' ').replaceAll(NOT_PLAIN, '').replaceAll(/ +/g, ' ');
  const characters = Array.from(spaced.replaceAll(STACKED_MARKS, '$1').trim());
  if (characters.length <= maxCharacters && start.length === text.length) return characters.join('');
  return `${characters.slice(0, maxCharacters - 1).join('')}…`;
};

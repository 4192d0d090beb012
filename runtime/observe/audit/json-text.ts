/** Printable ASCII without quote and backslash. */
const isPlain = /^[ !#-[\]-~]*$/;

const beyondAscii = /[\u007f-\uffff]/g;

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * The text as a JSON string of printable ASCII alone: no text from outside can end a line, write to a terminal or hide
 * what it says (line separators, bidirectional marks, control characters).
 */
export const jsonText = (text: string): string => (isPlain.test(text) ? `"${text}"` : asciiJson(JSON.stringify(text)));

/** JSON text without white space between its values, in ASCII: what is beyond it can only be in strings. */
export const asciiJson = (json: string): string => json.replaceAll(beyondAscii, escaped);

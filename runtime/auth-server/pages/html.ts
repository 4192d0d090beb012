/** Text that may be written into a page as it is. Made by `html` alone. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

type Piece = Html | string | number | readonly Html[] | undefined;

/**
 * A template of HTML: what it inserts is escaped, wherever between two tags or in a quoted attribute it stands, and
 * pieces of HTML are not. Undefined inserts nothing.
 */
export const html = (texts: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(String.raw({ raw: texts }, ...pieces.map(written)));

const written = (piece: Piece): string => {
  if (piece === undefined) return '';
  if (piece instanceof Html) return String(piece);
  return typeof piece === 'object' ? piece.join('\n') : escaped(String(piece));
};

const escaped = (text: string): string => text.replaceAll(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

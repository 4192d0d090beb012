/** An element of XML: either text or elements. */
export interface XmlElement {
  readonly name: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Elements inside elements. */
const MAX_DEPTH = 8;
const MAX_ELEMENTS = 256;

/**
 * The root element, undefined for anything but plain XML: what a service answers with has elements, attributes (which
 * are skipped) and text, and neither a document type nor entities of its own, by which readers are attacked.
 */
export const readXml = (document: string): XmlElement | undefined => {
  const reader = new Reader(document.replace(DECLARATION, ''));
  const root = reader.element(0);
  return root && reader.isAtEnd() ? root : undefined;
};

/** The element at this path of names below the root, where each name is there exactly once. */
export const elementAt = (root: XmlElement, path: readonly string[]): XmlElement | undefined => {
  let current = root;
  for (const name of path) {
    const found: readonly XmlElement[] = current.children.filter((each) => each.name === name);
    const [child] = found;
    if (!child || found.length > 1) return undefined;
    current = child;
  }
  return current;
};

const DECLARATION = /^\uFEFF?<\?xml [^<>]*\?>/;
const START = /\s*<([A-Za-z][\w.-]*)((?:\s+[A-Za-z][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;
const TEXT = /[^<]*/y;
const END = /<\/([A-Za-z][\w.-]*)\s*>/y;
const REST = /\s*$/y;

class Reader {
  readonly #document: string;
  #at = 0;
  #elements = 0;

  constructor(document: string) {
    this.#document = document;
  }

  isAtEnd(): boolean {
    return this.#match(REST) !== undefined;
  }

  element(depth: number): XmlElement | undefined {
    const [, name, , empty] = this.#match(START) ?? [];
    this.#elements += 1;
    if (name === undefined || depth > MAX_DEPTH || this.#elements > MAX_ELEMENTS) return undefined;
    return empty === '/' ? { name, text: '', children: [] } : this.#content(name, depth);
  }

  #content(name: string, depth: number): XmlElement | undefined {
    const children: XmlElement[] = [];
    for (;;) {
      const raw = this.#match(TEXT)?.[0] ?? '';
      const end = this.#match(END);
      if (end) {
        const text = children.length === 0 ? unescaped(raw) : '';
        const isMixed = children.length > 0 && raw.trim() !== '';
        return end[1] === name && text !== undefined && !isMixed ? { name, text, children } : undefined;
      }
      const child = raw.trim() === '' ? this.element(depth + 1) : undefined;
      if (!child) return undefined;
      children.push(child);
    }
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#document);
    if (!found) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Undefined where there is a reference to anything but a character. */
const unescaped = (raw: string): string | undefined => {
  let isSound = true;
  const text = raw.replaceAll(/&([^;&]{0,12};?)/g, (_all, reference: string) => {
    const character = reference.endsWith(';') ? characterOf(reference.slice(0, -1)) : undefined;
    isSound &&= character !== undefined;
    return character ?? '';
  });
  return isSound ? text : undefined;
};

const characterOf = (reference: string): string | undefined => {
  const [, hexadecimal, decimal] = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(reference) ?? [];
  if (hexadecimal === undefined && decimal === undefined)
    return Object.hasOwn(ENTITIES, reference) ? ENTITIES[reference] : undefined;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
};

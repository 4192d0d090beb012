import { TemplateSyntaxError } from './errors.ts';
import { stringLiteral } from './literals.ts';
import type { Branches, Node, Template } from './nodes.ts';
import { parsePipeline } from './parse-pipeline.ts';
import { TokenReader } from './token-reader.ts';
import type { Token } from './tokens.ts';

/** Characters of a template. */
export const MAX_TEMPLATE = 65_536;

/**
 * Parses a template in the language of Go's text/template. Takes time in proportion to its length. Throws
 * TemplateSyntaxError.
 */
export const parseTemplate = (text: string): Template => {
  const start = { line: 1, column: 1 };
  if (text.length > MAX_TEMPLATE) throw new TemplateSyntaxError(`longer than ${MAX_TEMPLATE} characters`, start);
  const reader = new TokenReader(text);
  const parser = new BlockParser(reader);
  const main = parser.main();
  parser.checkNames();
  return { text, main, definitions: parser.definitions };
};

/** What ends a list of nodes. */
interface Ending {
  readonly token: Token;
  readonly word: 'end' | 'else';
}

interface NodeList {
  readonly nodes: readonly Node[];
  /** Absent at the end of the template. */
  readonly ending?: Ending;
}

class BlockParser {
  readonly definitions = new Map<string, readonly Node[]>();
  readonly #reader: TokenReader;
  readonly #used: { readonly name: string; readonly token: Token }[] = [];
  #rangeDepth = 0;

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  main(): readonly Node[] {
    const { nodes, ending } = this.#list({ isTop: true });
    if (ending !== undefined) throw this.#reader.wrong(ending.token, `${ending.word} without if, range or with`);
    return nodes;
  }

  checkNames(): void {
    for (const { name, token } of this.#used)
      if (!this.definitions.has(name))
        throw this.#reader.wrong(token, `no template is defined as ${JSON.stringify(name)}`);
  }

  #list({ isTop }: { readonly isTop: boolean }): NodeList {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#reader.next();
      if (token.kind === 'end') {
        if (isTop) return { nodes };
        throw this.#reader.unexpected(token);
      }
      if (token.kind === 'text') {
        nodes.push({ kind: 'text', text: token.text });
        continue;
      }
      const word = this.#reader.peekPastSpace();
      if (word.kind === 'word' && (word.text === 'end' || word.text === 'else')) {
        this.#reader.next();
        return { nodes, ending: { token: word, word: word.text } };
      }
      if (isTop && word.kind === 'word' && word.text === 'define') this.#definition();
      else nodes.push(this.#action(word));
    }
  }

  #action(word: Token): Node {
    if (word.kind !== 'word') return { kind: 'action', pipeline: parsePipeline(this.#reader, 'action') };
    switch (word.text) {
      case 'if':
      case 'with':
      case 'range':
        this.#reader.next();
        return this.#control(word.text, word);
      case 'template':
      case 'block':
        this.#reader.next();
        return this.#invocation(word.text);
      case 'break':
      case 'continue':
        this.#reader.next();
        if (this.#rangeDepth === 0) throw this.#reader.wrong(word, `${word.text} outside of range`);
        this.#close();
        return { kind: word.text };
      case 'define':
        throw this.#reader.wrong(word, 'define inside of another block', 'define templates at the top');
      default:
        return { kind: 'action', pipeline: parsePipeline(this.#reader, 'action') };
    }
  }

  #control(kind: 'if' | 'with' | 'range', { at }: Token): Node {
    return this.#reader.nested({ at }, () =>
      this.#reader.scoped(() => {
        const pipeline = parsePipeline(this.#reader, kind);
        return { kind, at, pipeline, ...this.#branches(kind) };
      }),
    );
  }

  #branches(kind: 'if' | 'with' | 'range'): Branches {
    if (kind === 'range') this.#rangeDepth += 1;
    const { nodes: body, ending } = this.#reader.scoped(() => this.#list({ isTop: false }));
    if (kind === 'range') this.#rangeDepth -= 1;
    if (ending?.word !== 'else') {
      this.#close();
      return { body, otherwise: [] };
    }
    const next = this.#reader.peekPastSpace();
    if (next.kind === 'word' && next.text === kind && kind !== 'range') {
      this.#reader.next();
      // `else if` ends with the `end` of the chain.
      return { body, otherwise: [this.#control(kind, next)] };
    }
    this.#close();
    const last = this.#list({ isTop: false });
    if (last.ending?.word === 'else') throw this.#reader.wrong(last.ending.token, 'a second else');
    this.#close();
    return { body, otherwise: last.nodes };
  }

  #invocation(kind: 'template' | 'block'): Node {
    const token = this.#reader.nextPastSpace();
    const name = this.#name(token);
    if (kind === 'template' && this.#reader.takePastSpace('close')) {
      this.#used.push({ name, token });
      return { kind: 'template', at: token.at, name, pipeline: undefined };
    }
    const pipeline = parsePipeline(this.#reader, kind);
    if (kind === 'block') this.#define(name, token);
    else this.#used.push({ name, token });
    return { kind: 'template', at: token.at, name, pipeline };
  }

  #definition(): void {
    this.#reader.next();
    const token = this.#reader.nextPastSpace();
    const name = this.#name(token);
    this.#close();
    this.#define(name, token);
  }

  #define(name: string, token: Token): void {
    const { nodes, ending } = this.#reader.nested(token, () => this.#body());
    if (ending?.word === 'else') throw this.#reader.wrong(ending.token, 'else without if, range or with');
    this.#close();
    const known = this.definitions.get(name);
    if (known === undefined || isEmpty(known)) this.definitions.set(name, nodes);
    else if (!isEmpty(nodes)) throw this.#reader.wrong(token, `the template ${JSON.stringify(name)} is defined twice`);
  }

  #body(): NodeList {
    const depth = this.#rangeDepth;
    this.#rangeDepth = 0;
    const list = this.#reader.isolated(() => this.#list({ isTop: false }));
    this.#rangeDepth = depth;
    return list;
  }

  #name(token: Token): string {
    if (token.kind !== 'string' && token.kind !== 'rawString')
      throw this.#reader.wrong(token, 'the name of a template is missing', 'write it in quotes');
    const name = stringLiteral(token.text);
    if (!name.ok) throw this.#reader.wrong(token, name.reason);
    return name.value;
  }

  #close(): void {
    const token = this.#reader.nextPastSpace();
    if (token.kind !== 'close') throw this.#reader.unexpected(token);
  }
}

const isEmpty = (nodes: readonly Node[]): boolean =>
  nodes.every((node) => node.kind === 'text' && node.text.trim() === '');

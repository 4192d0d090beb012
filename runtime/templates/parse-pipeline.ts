import { type Literal, characterLiteral, numberLiteral, stringLiteral } from './literals.ts';
import type { Command, Operand, Pipeline } from './nodes.ts';
import { FUNCTION_ARGUMENTS } from './function-arguments.ts';
import type { TokenReader } from './token-reader.ts';
import type { Token } from './tokens.ts';

/** What a pipeline stands in; a `range` may declare two variables. */
export type PipelineContext = 'action' | 'if' | 'with' | 'range' | 'template' | 'block' | 'group';

/**
 * Reads `$x := command | command` and the token that ends it. What can only fail when it is evaluated, as arguments of
 * what is no function, is refused here already. Throws TemplateSyntaxError.
 */
export const parsePipeline = (reader: TokenReader, context: PipelineContext): Pipeline => {
  const { at } = reader.peekPastSpace();
  const { variables, isAssignment } = parseDeclarations(reader, context);
  const end = context === 'group' ? ')' : 'close';
  const commands: Command[] = [];
  do commands.push(parseCommand(reader, commands.length > 0));
  while (reader.takePastSpace('|'));
  const closing = reader.nextPastSpace();
  if (closing.kind !== end) throw reader.unexpected(closing);
  if (!isAssignment) for (const name of variables) reader.declare(name);
  return { at, variables, isAssignment, commands };
};

const parseDeclarations = (
  reader: TokenReader,
  context: PipelineContext,
): { readonly variables: readonly string[]; readonly isAssignment: boolean } => {
  const variables: string[] = [];
  while (reader.peekPastSpace().kind === 'variable') {
    const before = reader.place();
    const variable = reader.nextPastSpace();
    const sign = reader.peekPastSpace();
    const isList = sign.kind === ',' && context === 'range' && variables.length === 0;
    if (sign.kind !== '=' && sign.kind !== ':=' && !isList) {
      if (sign.kind === ',') throw reader.wrong(sign, 'only range declares two variables');
      if (variables.length > 0) throw reader.unexpected(sign);
      reader.goBack(before);
      break;
    }
    reader.nextPastSpace();
    if (sign.kind === '=') reader.checkVariable(variable);
    variables.push(variable.text);
    if (isList) continue;
    return { variables, isAssignment: sign.kind === '=' };
  }
  if (variables.length > 0) throw reader.unexpected(reader.peekPastSpace());
  return { variables, isAssignment: false };
};

const parseCommand = (reader: TokenReader, hasFinal: boolean): Command => {
  const { at } = reader.peekPastSpace();
  const operands: Operand[] = [];
  for (let operand = parseOperand(reader); operand !== undefined; operand = parseOperand(reader)) {
    operands.push(operand);
    const next = reader.peek();
    if (next.kind !== 'space' && next.kind !== 'close' && next.kind !== ')' && next.kind !== '|')
      throw reader.unexpected(next);
  }
  const [head, ...args] = operands;
  if (head === undefined) throw reader.wrong(reader.peekPastSpace(), 'a value is missing here');
  if (head.kind === 'function') checkArguments(reader, head, args.length + Number(hasFinal));
  else if (hasFinal) throw reader.wrong(head, 'a pipeline goes on with a function');
  else if (args.length > 0) throw reader.wrong(head, 'arguments are given to what is no function', NO_FUNCTION);
  for (const arg of args) if (arg.kind === 'function') checkArguments(reader, arg, 0);
  if (head.kind === 'nil') throw reader.wrong(head, 'nil is no value by itself', 'compare with it, as in eq .x nil');
  return { at, head, args };
};

const NO_FUNCTION = 'put the name of a function first, or a pipe before it';

const checkArguments = (reader: TokenReader, head: Operand & { kind: 'function' }, count: number): void => {
  const { least, most } = FUNCTION_ARGUMENTS.get(head.name) ?? { least: 0, most: 0 };
  if (count >= least && count <= most) return;
  const wanted = least === most ? String(least) : most === Infinity ? `at least ${least}` : `${least} to ${most}`;
  throw reader.wrong(head, `${head.name} takes ${wanted} ${wanted === '1' ? 'argument' : 'arguments'}, not ${count}`);
};

const parseOperand = (reader: TokenReader): Operand | undefined => {
  const token = reader.peekPastSpace();
  const term = parseTerm(reader, token);
  if (term === undefined) return undefined;
  const path: string[] = [];
  while (reader.peek().kind === 'field') path.push(reader.next().text.slice(1));
  if (path.length === 0) return term;
  switch (term.kind) {
    case 'dot':
      if (term.path.length === 0) break;
      return { ...term, path: [...term.path, ...path] };
    case 'variable':
    case 'group':
      return { ...term, path: [...term.path, ...path] };
    case 'function':
    case 'literal':
    case 'nil':
  }
  throw reader.wrong(token, 'a field is read of what has none');
};

const parseTerm = (reader: TokenReader, token: Token): Operand | undefined => {
  const { kind, text, at } = token;
  switch (kind) {
    case 'dot':
      reader.nextPastSpace();
      return { kind: 'dot', at, path: [] };
    case 'field':
      reader.nextPastSpace();
      return { kind: 'dot', at, path: [text.slice(1)] };
    case 'variable':
      reader.checkVariable(reader.nextPastSpace());
      return { kind: 'variable', at, name: text, path: [] };
    case 'word':
      reader.nextPastSpace();
      return wordOf(reader, token);
    case 'number':
      return literal(reader, numberLiteral(text));
    case 'character':
      return literal(reader, characterLiteral(text));
    case 'string':
    case 'rawString':
      return literal(reader, stringLiteral(text));
    case '(':
      reader.nextPastSpace();
      return { kind: 'group', at, pipeline: reader.nested(token, () => parsePipeline(reader, 'group')), path: [] };
    default:
      return undefined;
  }
};

const literal = (reader: TokenReader, read: Literal<(Operand & { kind: 'literal' })['value']>): Operand => {
  const token = reader.nextPastSpace();
  if (!read.ok) throw reader.wrong(token, read.reason);
  return { kind: 'literal', at: token.at, value: read.value };
};

const wordOf = (reader: TokenReader, token: Token): Operand => {
  const { text, at } = token;
  if (text === 'true' || text === 'false') return { kind: 'literal', at, value: text === 'true' };
  if (text === 'nil') return { kind: 'nil', at };
  if (FUNCTION_ARGUMENTS.has(text)) return { kind: 'function', at, name: text };
  if (text === 'call') throw reader.wrong(token, 'call is not available', 'data hold no functions');
  throw reader.wrong(token, `there is no function ${text}`, `use one of ${[...FUNCTION_ARGUMENTS.keys()].join(', ')}`);
};

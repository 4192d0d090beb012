import { type Position, positionsIn } from './errors.ts';
import type { Command, Node, Operand, Pipeline, Template } from './nodes.ts';

/** A place of the data that a template reads. */
export interface FieldReference {
  /** From the root of the data, as `['steps', 'a', 'output', 'id']`; empty where all of them are read. */
  readonly path: readonly string[];
  readonly position: Position;
}

/**
 * The places of the data that the template reads, as far as its text tells: fields of `.` and `$`, also through
 * variables, `with`, `index` with constant keys and definitions. Items of a `range` are not followed: the list itself
 * is the reference. What is only bound to a name or to the dot counts where it is used, if it is the root of the data
 * or one of its members.
 */
export const fieldsOf = (template: Template): readonly FieldReference[] => {
  const finder = new FieldFinder(template);
  finder.walk(template.main, { dot: [], variables: [{ name: '$', path: [] }] });
  return finder.references;
};

/** `undefined` is a value whose place is unknown. */
type Path = readonly string[] | undefined;

interface Scope {
  readonly dot: Path;
  readonly variables: readonly { readonly name: string; readonly path: Path }[];
}

/** Definitions are followed once for each place that is handed to them; beyond this many everything counts as read. */
const MAX_INVOCATIONS = 100;

class FieldFinder {
  readonly references: FieldReference[] = [];
  readonly #template: Template;
  readonly #positionOf: (offset: number) => Position;
  readonly #invoked = new Set<string>();

  constructor(template: Template) {
    this.#template = template;
    this.#positionOf = positionsIn(template.text);
  }

  walk(nodes: readonly Node[], outer: Scope): void {
    let scope = outer;
    for (const node of nodes) {
      switch (node.kind) {
        case 'action':
          scope = this.#pipeline(node.pipeline, scope, node.pipeline.variables.length > 0).scope;
          break;
        case 'if':
        case 'with':
        case 'range':
          this.#control(node, scope);
          break;
        case 'template':
          this.#invocation(node, scope);
          break;
        case 'text':
        case 'break':
        case 'continue':
      }
    }
  }

  #control(node: Node & { kind: 'if' | 'with' | 'range' }, scope: Scope): void {
    const { path, scope: inner } = this.#pipeline(node.pipeline, scope, node.kind === 'with');
    if (node.kind === 'range') {
      const items = node.pipeline.variables.map((name) => ({ name, path: undefined }));
      this.walk(node.body, { dot: undefined, variables: [...inner.variables, ...items] });
    } else {
      this.walk(node.body, node.kind === 'with' ? { ...inner, dot: path } : inner);
    }
    this.walk(node.otherwise, inner);
  }

  #invocation({ name, pipeline, at }: Node & { kind: 'template' }, scope: Scope): void {
    const dot = pipeline === undefined ? undefined : this.#pipeline(pipeline, scope, true).path;
    const key = JSON.stringify([name, dot ?? null]);
    if (this.#invoked.has(key)) return;
    this.#invoked.add(key);
    if (this.#invoked.size > MAX_INVOCATIONS) return this.#note([], at);
    this.walk(this.#template.definitions.get(name) ?? [], { dot, variables: [{ name: '$', path: dot }] });
  }

  /** `isBinding`: the value gets a name, or becomes the dot. */
  #pipeline(pipeline: Pipeline, scope: Scope, isBinding: boolean): { readonly path: Path; readonly scope: Scope } {
    const { commands, variables, isAssignment } = pipeline;
    const isShallow = isBinding && !isAssignment && commands.length === 1;
    let path: Path;
    for (const command of commands) path = this.#command(command, scope, isShallow);
    if (commands.length > 1) path = undefined;
    const bound = variables.map((name) => ({ name, path: isAssignment ? undefined : path }));
    return { path, scope: { ...scope, variables: [...scope.variables, ...bound] } };
  }

  #command({ head, args, at }: Command, scope: Scope, isBinding: boolean): Path {
    if (head.kind !== 'function') return this.#operand(head, scope, isBinding);
    const [first, ...keys] = args;
    const constants = keys.map((key) =>
      key.kind === 'literal' && typeof key.value === 'string' ? key.value : undefined,
    );
    const known = constants.findIndex((key) => key === undefined);
    const steps = constants.slice(0, known < 0 ? undefined : known) as readonly string[];
    if (head.name !== 'index' || first === undefined || steps.length === 0) {
      for (const arg of args) this.#operand(arg, scope, false);
      return undefined;
    }
    const from = this.#operand(first, scope, true);
    for (const key of keys) this.#operand(key, scope, false);
    const path = from && [...from, ...steps];
    if (path !== undefined) this.#note(path, at, isBinding);
    return steps.length === keys.length ? path : undefined;
  }

  #operand(operand: Operand, scope: Scope, isBinding: boolean): Path {
    const from = this.#origin(operand, scope);
    if (from === undefined || operand.kind === 'function' || operand.kind === 'literal' || operand.kind === 'nil')
      return undefined;
    const path = [...from, ...operand.path];
    this.#note(path, operand.at, isBinding);
    return path;
  }

  #origin(operand: Operand, scope: Scope): Path {
    switch (operand.kind) {
      case 'dot':
        return scope.dot;
      case 'variable':
        return scope.variables.findLast(({ name }) => name === operand.name)?.path;
      case 'group':
        return this.#pipeline(operand.pipeline, scope, operand.path.length > 0).path;
      default:
        return undefined;
    }
  }

  #note(path: readonly string[], at: number, isBinding = false): void {
    if (isBinding && path.length < 2) return;
    this.references.push({ path, position: this.#positionOf(at) });
  }
}

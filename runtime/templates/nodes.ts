import type { Int } from './values.ts';

/** A part of a template. `at` is an offset in its text. */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: Pipeline }
  | Control<'if'>
  | Control<'with'>
  | Control<'range'>
  | { readonly kind: 'template'; readonly at: number; readonly name: string; readonly pipeline: Pipeline | undefined }
  | { readonly kind: 'break' | 'continue' };

export interface Branches {
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[];
}

export interface Control<Kind extends 'if' | 'with' | 'range'> extends Branches {
  readonly kind: Kind;
  readonly at: number;
  readonly pipeline: Pipeline;
}

/** `$x := first | second`: the value of each command is the last argument of the next. */
export interface Pipeline {
  readonly at: number;
  /** With the dollar sign. */
  readonly variables: readonly string[];
  /** `=` and not `:=` */
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
}

/** A function and its arguments, or a single operand. */
export interface Command {
  readonly at: number;
  readonly head: Operand;
  readonly args: readonly Operand[];
}

export type Operand =
  | { readonly kind: 'literal'; readonly at: number; readonly value: boolean | number | string | Int }
  | { readonly kind: 'nil'; readonly at: number }
  /** `.`, and `.a.b` */
  | { readonly kind: 'dot'; readonly at: number; readonly path: readonly string[] }
  /** `$`, and `$x.a.b` */
  | { readonly kind: 'variable'; readonly at: number; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: 'function'; readonly at: number; readonly name: string }
  /** `( … )`, and `( … ).a.b` */
  | { readonly kind: 'group'; readonly at: number; readonly pipeline: Pipeline; readonly path: readonly string[] };

/** A parsed template, to be expanded any number of times. */
export interface Template {
  readonly text: string;
  readonly main: readonly Node[];
  /** What `define` and `block` name. */
  readonly definitions: ReadonlyMap<string, readonly Node[]>;
}

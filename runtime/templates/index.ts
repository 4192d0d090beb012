/**
 * The templates of workflows: the language of Go's text/template over JSON, for texts that tenants write and data that
 * strangers influence. Parsing takes time in proportion to the text, expanding has a budget, and data are reached by
 * their own keys only. Start at `expand.ts`; docs/templates.md is what authors read.
 */

export type { TemplateBounds } from './budget.ts';
export { type Position, type TemplateBound, TemplateError, TemplateSyntaxError } from './errors.ts';
export { type TemplateData, expandTemplate } from './expand.ts';
export { type FieldReference, fieldsOf } from './fields.ts';
export { isTooDeep } from './json-text.ts';
export type { Template } from './nodes.ts';
export { MAX_TEMPLATE, parseTemplate } from './parse.ts';

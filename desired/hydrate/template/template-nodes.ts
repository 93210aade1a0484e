import type { NumberLiteral } from './template-literals.ts';

/** An operand or a call: the first term is a function or a value, the others are arguments. */
export type TemplateCommand = readonly TemplateTerm[];

export interface TemplatePipeline {
  /** The variables that get the value: one, or index and item of a range. */
  readonly variables: readonly string[];
  /** The variables are new (`:=`), not those that exist (`=`). */
  readonly declares: boolean;
  readonly commands: readonly TemplateCommand[];
}

export type TemplateTerm =
  | { readonly kind: 'literal'; readonly value: string | boolean | null }
  | { readonly kind: 'number'; readonly number: NumberLiteral; readonly text: string }
  | { readonly kind: 'function'; readonly name: string; readonly fields: readonly string[] }
  /** `.a.b`, or `.` without fields. */
  | { readonly kind: 'field'; readonly fields: readonly string[] }
  /** `$x.a.b`; `$` is the data that the template got. */
  | { readonly kind: 'variable'; readonly name: string; readonly fields: readonly string[] }
  | { readonly kind: 'pipeline'; readonly pipeline: TemplatePipeline; readonly fields: readonly string[] };

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: TemplatePipeline }
  | { readonly kind: 'break' | 'continue' }
  /** Runs a template that `define` or `block` names. */
  | { readonly kind: 'template'; readonly name: string; readonly pipeline: TemplatePipeline | undefined }
  | BranchNode;

export interface BranchNode {
  readonly kind: 'if' | 'with' | 'range';
  readonly pipeline: TemplatePipeline;
  readonly body: readonly TemplateNode[];
  readonly otherwise: readonly TemplateNode[];
}

export interface ParsedTemplate {
  readonly nodes: readonly TemplateNode[];
  /** The templates that `define` and `block` name. */
  readonly named: ReadonlyMap<string, readonly TemplateNode[]>;
}

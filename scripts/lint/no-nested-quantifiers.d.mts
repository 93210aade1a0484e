import type { Rule } from 'eslint';

export declare const noNestedQuantifiers: Rule.RuleModule;
/** Whether an expression (a literal with slashes and flags) may take exponential time. */
export declare function hasNestedQuantifiers(literal: string): boolean;

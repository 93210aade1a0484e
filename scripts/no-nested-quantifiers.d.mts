import type { Rule } from 'eslint';

export declare const noNestedQuantifiers: Rule.RuleModule;
/** True for an expression that no text may meet: a literal with its slashes and flags. */
export declare function hasNestedQuantifiers(literal: string): boolean;

export type Verdict = 'healthy' | 'waiting' | 'broken';

/** A labelled block of lines; one without lines is not shown. */
export interface ExplanationSection {
  readonly label: string;
  readonly lines: readonly string[];
}

export interface Explanation {
  readonly verdict: Verdict;
  /** The explained object and its state. */
  readonly title: string;
  /** Why the verdict is not `healthy`: the most important fact. */
  readonly reason?: string;
  readonly sections: readonly ExplanationSection[];
}

/** Joins the parts that are there. */
export function joined(parts: readonly (string | undefined)[], separator = ', '): string {
  return parts.filter((part) => part !== undefined && part !== '').join(separator);
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

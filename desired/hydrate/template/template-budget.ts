import { TemplateError } from './template-error.ts';

/** Bounds what one template may cost, whatever its loops and functions do. */
export const templateLimits = {
  /** Nodes and calls that are executed. */
  steps: 100_000,
  /** Characters and items that functions read and write. */
  work: 8_000_000,
  /** Instructions of regular expressions, if each search goes to the end of its text. */
  searchSteps: 100_000_000,
  /** Characters of one text. */
  textLength: 1024 * 1024,
  /** Items of one list or map. */
  items: 100_000,
  /** Lists and maps within each other. */
  depth: 100,
} as const;

/** A visit costs about as much time as this many characters. */
const visitCost = 4;

/** The rest of the limits of one template. */
export class TemplateBudget {
  #steps = 0;
  #work = 0;
  #searchSteps = 0;

  /** @throws TemplateError */
  step(): void {
    this.#steps += 1;
    if (this.#steps > templateLimits.steps) throw new TemplateError(`more than ${templateLimits.steps} steps`);
  }

  /** Counts characters or items that are read or written. @throws TemplateError */
  spend(units: number): void {
    this.#work += units;
    if (this.#work > templateLimits.work)
      throw new TemplateError(`functions of the template read and write more than ${templateLimits.work} characters`);
  }

  /** Counts the steps of a regular expression before a search. @throws TemplateError */
  search(steps: number): void {
    this.#searchSteps += steps;
    if (this.#searchSteps > templateLimits.searchSteps)
      throw new TemplateError('the regular expressions of the template would take too long on these texts');
  }

  /** Checks the length of a text before it is built. @throws TemplateError */
  expectText(length: number): void {
    if (!(length <= templateLimits.textLength))
      throw new TemplateError(`a text has more than ${templateLimits.textLength} characters`);
    this.spend(length);
  }

  /** Checks the length of a list before it is built. @throws TemplateError */
  expectItems(count: number): void {
    if (!(count <= templateLimits.items)) throw new TemplateError(`a list has more than ${templateLimits.items} items`);
    this.spend(count);
  }

  /** Visits a value that is nested in others. @throws TemplateError */
  visit(depth: number): void {
    if (depth > templateLimits.depth)
      throw new TemplateError(`more than ${templateLimits.depth} lists and maps within each other`);
    this.spend(visitCost);
  }
}

import { stringifyJson } from '#base';
import type { Json } from '#base';
import type { Draw } from './draw.ts';
import type { Ask, OracleAnswer } from './oracle.ts';

/** Both answers to a case in a form that can be compared, and why they may differ. */
export interface Verdict {
  readonly ours: Json;
  readonly theirs: Json;
}

/** One kind of question. `Case` is JSON, so that a case can be kept and shrunk. */
export interface Area {
  readonly name: string;
  /** The area of the oracle; the name if absent. */
  readonly oracle?: string;
  /** Undefined: no case came of these choices. */
  readonly generate: (draw: Draw, ask: Ask) => Promise<Json | undefined> | Json | undefined;
  /** Asks our code, and puts both answers in one form. An error of our code counts as a crash. */
  readonly judge: (input: Json, answer: OracleAnswer) => Promise<Verdict> | Verdict;
  /** Groups differences: those with equal answers and an equal shape probably have one cause. */
  readonly shapeOf?: (input: Json) => string;
  /** The row of docs/compatibility.md that explains a difference. */
  readonly explain: (input: Json, verdict: Verdict, answer: OracleAnswer) => string | undefined;
}

/** An answer other than a result, in the form that is compared. */
export function failureOf(answer: OracleAnswer): Json {
  switch (answer.kind) {
    case 'result':
      return answer.value;
    case 'hang':
      return { hang: true };
    case 'error':
      return { error: answer.text };
    case 'panic':
      return { panic: answer.text.split('\n')[0] ?? '' };
    case 'crash':
      return { crash: answer.text.split('\n')[0] ?? '' };
  }
}

/** A text as it is, any other value as JSON, an absent one as nothing. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : stringifyJson(value);
}

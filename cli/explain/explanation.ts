import type { Explanation, ExplanationSection, Verdict } from '#api';
import { outsideText } from '#base';
import { paint } from '../process/output.ts';
import type { CommandOutput, OutputColor } from '../process/output.ts';

/** Exit codes of `driftless explain`; 1 and 2 mean that there is no answer. */
export const verdictExitCodes: Readonly<Record<Verdict, number>> = { healthy: 0, waiting: 3, broken: 4 };

const colors: Readonly<Record<Verdict, OutputColor>> = { healthy: 'green', waiting: 'yellow', broken: 'red' };
const labelWidth = 12;
/** Longer lines are cut: `-o json` has the whole text. */
const maxLineLength = 400;

/** The explanation as text: the verdict first, then a labelled block for each section. */
export function explanationLines({ title, verdict, reason, sections }: Explanation, output: CommandOutput): string[] {
  const verdictText = paint(output, colors[verdict], verdict.toUpperCase());
  return [
    paint(output, 'bold', terminalText(title)),
    `${verdictText}${reason === undefined ? '' : `: ${terminalText(reason)}`}`,
    ...sections.filter(({ lines }) => lines.length > 0).flatMap((section) => sectionLines(section, output)),
  ];
}

function sectionLines({ label, lines }: ExplanationSection, output: CommandOutput): readonly string[] {
  const head = paint(output, 'blue', label.padEnd(labelWidth));
  return lines.map((line, i) => `${i === 0 ? head : ' '.repeat(labelWidth)} ${terminalText(line)}`);
}

/** One line that is safe on a terminal; names and messages in it come from tenants. */
function terminalText(text: string): string {
  const [indent = ''] = /^ */.exec(text) ?? [];
  const line = outsideText('field', text).trim().replaceAll(/\s+/g, ' ');
  return indent + (line.length > maxLineLength ? `${line.slice(0, maxLineLength - 1)}…` : line);
}

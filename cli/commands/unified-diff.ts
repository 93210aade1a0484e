/** One line of a difference: kept, removed or added. */
interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

const contextLines = 3;
/** Above this many comparisons the middle is shown as replaced. */
const maxCells = 4_000_000;

/** The difference of two texts as `diff -u` prints it, without its two file names. Empty: equal. */
export function unifiedDiff(from: readonly string[], to: readonly string[]): readonly string[] {
  const lines = diffLines(from, to);
  const changed = lines.flatMap(({ sign }, i) => (sign === ' ' ? [] : [i]));
  const hunks: { begin: number; end: number }[] = [];
  for (const i of changed) {
    const [begin, end] = [Math.max(0, i - contextLines), Math.min(lines.length, i + contextLines + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && begin <= last.end) last.end = end;
    else hunks.push({ begin, end });
  }
  return hunks.flatMap(({ begin, end }) => {
    const hunk = lines.slice(begin, end);
    const count = (part: readonly DiffLine[], sign: '-' | '+'): number =>
      part.filter((line) => line.sign === ' ' || line.sign === sign).length;
    const before = lines.slice(0, begin);
    const range = (sign: '-' | '+'): string => rangeText(count(before, sign), count(hunk, sign));
    return [`@@ -${range('-')} +${range('+')} @@`, ...hunk.map(({ sign, text }) => sign + text)];
  });
}

function rangeText(before: number, count: number): string {
  const start = count === 0 ? before : before + 1;
  return count === 1 ? String(start) : `${start},${count}`;
}

function diffLines(from: readonly string[], to: readonly string[]): readonly DiffLine[] {
  const shorter = Math.min(from.length, to.length);
  let head = 0;
  while (head < shorter && from[head] === to[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1;
  const kept = (texts: readonly string[]): readonly DiffLine[] => texts.map((text) => ({ sign: ' ', text }));
  return [
    ...kept(from.slice(0, head)),
    ...middle(from.slice(head, from.length - tail), to.slice(head, to.length - tail)),
    ...kept(from.slice(from.length - tail)),
  ];
}

/** By the longest common subsequence. */
function middle(from: readonly string[], to: readonly string[]): readonly DiffLine[] {
  const [rows, columns] = [from.length, to.length];
  const removed = (text: string): DiffLine => ({ sign: '-', text });
  const added = (text: string): DiffLine => ({ sign: '+', text });
  if (rows * columns > maxCells) return [...from.map(removed), ...to.map(added)];
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1)
    for (let column = columns - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        from[row] === to[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const found: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    const [left = '', right = ''] = [from[row], to[column]];
    const isSame = left === right;
    const isRemoved = isSame || at(row + 1, column) >= at(row, column + 1);
    found.push(isSame ? { sign: ' ', text: left } : isRemoved ? removed(left) : added(right));
    row += Number(isRemoved);
    column += Number(isSame || !isRemoved);
  }
  return [...found, ...from.slice(row).map(removed), ...to.slice(column).map(added)];
}

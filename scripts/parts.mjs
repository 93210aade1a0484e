/**
 * The items of the part "N/M" of a list: every Mth, from the Nth. `.ci/run` takes another half each
 * day. Items that `isAlways` accepts belong to each part. Without a part: all items.
 */
export function itemsOfPart(items, part, isAlways = () => false) {
  if (part === undefined) return items;
  const [number, parts] = part.split('/').map(Number);
  if (!(Number.isInteger(parts) && Number.isInteger(number) && number >= 1 && number <= parts))
    throw new Error(`--part ${part}: give a number and how many parts there are, such as 1/2`);
  return items.filter((item, at) => isAlways(item) || at % parts === number - 1);
}

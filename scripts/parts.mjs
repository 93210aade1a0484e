/** The items of the part "N/M" of a list: every Mth, from the Nth. Without a part: all items. */
export function itemsOfPart(items, part) {
  if (part === undefined) return items;
  const [number, parts] = part.split('/').map(Number);
  if (!(Number.isInteger(parts) && Number.isInteger(number) && number >= 1 && number <= parts))
    throw new Error(`--part ${part}: give a number and how many parts there are, such as 1/2`);
  return items.filter((_item, at) => at % parts === number - 1);
}

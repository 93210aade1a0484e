/** Whether a text is the first argument of `it`, `describe` or `each` in a source, thus a title. */
export function hasTitle(source: string, title: string): boolean {
  return ["'", '`', '"'].some((quote) => {
    const text = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`(?:\\b(?:it|test|describe)|\\))\\(\\s*${quote}${text}${quote}`).test(source);
  });
}

export function longSubjects(lines: readonly string[]): string[];

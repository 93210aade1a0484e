export const places: ReadonlyMap<string, string>;
export function withLinks(source: string, place: string, text: string): string;
export function writePages(): void;

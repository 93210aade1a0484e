import { signal } from '@preact/signals';

const tokenKey = 'driftless-token';
const favouritesKey = 'driftless-favourites';
const themeKey = 'driftless-theme';

/** The token of this tab; it is stored nowhere else. "": none. */
export const token = signal(readFrom(sessionStorage, tokenKey));
/** Why a token is needed; undefined: the last answer was given. */
export const signInReason = signal<string | undefined>(undefined);

export function signIn(text: string): void {
  token.value = text.trim();
  signInReason.value = undefined;
  writeTo(sessionStorage, tokenKey, token.value);
}

export function signOut(): void {
  signIn('');
  signInReason.value = 'You signed out.';
}

export const favourites = signal<ReadonlySet<string>>(
  new Set(readFrom(localStorage, favouritesKey).split('\n').filter(Boolean)),
);

export function toggleFavourite(key: string): void {
  const next = new Set(favourites.value);
  if (!next.delete(key)) next.add(key);
  favourites.value = next;
  writeTo(localStorage, favouritesKey, [...next].join('\n'));
}

export type Theme = 'auto' | 'light' | 'dark';
export const theme = signal<Theme>(themeOf(readFrom(localStorage, themeKey)));

export function setTheme(next: Theme): void {
  theme.value = next;
  writeTo(localStorage, themeKey, next);
}

function themeOf(text: string): Theme {
  return text === 'light' || text === 'dark' ? text : 'auto';
}

/** A browser may forbid storage: the page works without. */
function readFrom(storage: Storage, key: string): string {
  try {
    return storage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

function writeTo(storage: Storage, key: string, value: string): void {
  try {
    if (value === '') storage.removeItem(key);
    else storage.setItem(key, value);
  } catch {
    // Kept in memory only.
  }
}

/** controller: decides what to refresh, whether to sync and what to write. */
export {};

/**
 * The steps that all jq programs of one comparison may still take together: many small programs
 * block the event loop as long as a big one does.
 */
export interface JqWork {
  left: number;
}

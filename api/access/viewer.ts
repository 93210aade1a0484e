/** The namespaces and pages that a caller may see. */
export interface Viewer {
  /** Its name, for limits; absent: it has none. */
  readonly user?: string;
  /**
   * Whether it may get Applications in a namespace.
   * @throws ApiFault 503 if that cannot be found out
   */
  mayRead(namespace: string, signal: AbortSignal): Promise<boolean>;
}

/** The controller's own user on its socket, and other replicas. */
export const fullViewer: Viewer = { mayRead: () => Promise.resolve(true) };

export interface Caller {
  readonly viewer: Viewer;
  /** Another replica: it gets what this replica knows, and no other is asked for it. */
  readonly isPeer: boolean;
  /** Gets a page that is assembled anew, not one of the last second. */
  readonly wantsFresh?: boolean;
}

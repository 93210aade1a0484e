export default class Environment {
  readonly fakeTimersModern: { useFakeTimers(): void; useRealTimers(): void };
  readonly moduleMocker: {
    spyOn(object: object, name: string): { mockRestore(): void };
    restoreAllMocks(): void;
  };
  constructor(config: { readonly projectConfig: object });
  teardown(): Promise<void>;
}

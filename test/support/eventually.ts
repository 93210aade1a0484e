const minPauseMs = 20;
const maxPauseMs = 200;

/**
 * Retries `check` in real time until it does not throw, and returns its result. Throws the last
 * error after `withinMs`. For tests with real sockets and processes; others use FakeClock. Pauses
 * three times as long as a check takes, so that a busy machine is not kept busy by waiting tests.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 60_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const begin = performance.now();
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, 3 * (performance.now() - begin)));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

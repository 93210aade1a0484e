/**
 * Retries `check` in real time until it does not throw, and returns its result. Throws the last
 * error after `withinMs`. For tests with real sockets and processes; others use FakeClock.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 60_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

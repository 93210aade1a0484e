/**
 * Waits, in real time, until `check` stops throwing, and returns what it returns; gives up after `withinMs` with the last error. For
 * tests against real sockets and processes only; tests of decisions and waits use FakeClock.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 10_000): Promise<T> {
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

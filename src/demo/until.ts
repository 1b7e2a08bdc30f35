const POLL_MS = 20;
const GIVE_UP_MS = 30_000;

/** Asks again and again until the answer is yes. @throws Error if it never is. */
export async function untilTrue(ask: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + GIVE_UP_MS;
  while (!(await ask())) {
    if (performance.now() > deadlineMs) throw new Error(`nothing changed within ${GIVE_UP_MS / 1000} s`);
    await new Promise((resume) => setTimeout(resume, POLL_MS));
  }
}

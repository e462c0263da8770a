/** The first signal asks for a clean end; the second gets what it wants. */
export function shutdownSignal(onSignal: (name: string) => void): AbortSignal {
  const controller = new AbortController();
  for (const [name, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(code);
      onSignal(name);
      controller.abort();
    });
  }
  return controller.signal;
}

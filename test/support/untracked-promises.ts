/**
 * Loaded before the tests. The test runner follows every promise from its making to its end, to know in which test an
 * error was that nobody caught. A simulated hour makes millions of them, and that took half of its time. Without it such an
 * error still fails its file, in which it is told; run by itself (`node --test FILE`), it is told with its test.
 */
import hooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
syncBuiltinESMExports();

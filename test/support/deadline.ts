/**
 * Loaded before the tests of a tier. The runner's own limit ends a test and not its process: one that a forgotten timer or
 * connection keeps alive would hold up all that comes after it for ever, without a word. This one says what keeps it, and ends.
 */
import { basename } from 'node:path';

const limitMs = Number(process.env['FENCELINE_FILE_LIMIT_MS'] ?? 0);

if (limitMs > 0) {
  setTimeout(() => {
    const kept = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (name) => name));
    const list = kept.map(([name, all = []]) => `${all.length} ${name}`).join(', ');
    const file = basename(process.argv[1] ?? '');
    process.stderr.write(`\n!!!! ${file} DID NOT END WITHIN ${limitMs / 60_000} MINUTES; it is kept by ${list}\n`);
    process.exit(1);
  }, limitMs).unref();
}

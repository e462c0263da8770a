/**
 * Fence agents as they run in a pod of the chart: as its user, without capabilities, on a root that is read-only but for one
 * directory. The suites of two devices run again like that, agents of Python with a program each that they call.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] !== undefined;
const skip = isExhaustive ? process.getuid?.() !== 0 && 'needs root, for mounts' : 'FENCELINE_EXHAUSTIVE is not set';

/** $1: an empty directory, $2: the checkout. What follows runs in there, wherever the checkout is. */
const confine = `
set -e
scratch=$1 work=$2; shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/work" && mount --bind "$work" "$scratch/work"
cp /etc/passwd "$scratch/passwd" && echo "fenceline:x:65532:65532:fenceline:$scratch/tmp:/usr/sbin/nologin" >> "$scratch/passwd"
mount --bind "$scratch/passwd" /etc/passwd
mkdir --mode=1777 "$scratch/tmp"
mount -o remount,bind,ro /
cd "$scratch/work"
export TMPDIR="$scratch/tmp" HOME="$scratch/tmp"
exec setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
`;

describe('fence agents in the confines of their pod', { skip, timeout: 600_000 }, () => {
  for (const device of ['ipmi', 'apc']) {
    test(`${device}: the whole suite`, async () => {
      const scratch = mkdtempSync(join(tmpdir(), 'fenceline-confined-'));
      const { NODE_TEST_CONTEXT: _context, NODE_COMPILE_CACHE: _cache, ...env } = process.env;
      const program = [
        realpathSync(process.execPath),
        '--test',
        '--test-reporter=tap',
        `test/devices/${device}.test.ts`,
      ];
      const args = ['--mount', 'bash', '-c', confine, 'bash', scratch, resolve('.'), ...program];
      try {
        const { stdout } = await promisify(execFile)('unshare', args, { env, maxBuffer: 2 ** 24 });
        assert.match(stdout, /^# pass [1-9]\d*\n# fail 0$/m);
      } finally {
        rmdirSync(scratch);
      }
    });
  }
});

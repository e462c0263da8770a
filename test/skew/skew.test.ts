/**
 * One row of each kind on a second minor version of Kubernetes (NGS-12): a policy, a safe detach, an assertion, a ladder of
 * remedies, a fence by a real agent, the gates. `make test-skew` runs them all.
 */
import { SECOND_VERSION } from '../../control-plane/build.ts';

const one = ['both-wait', 'safe', 'evicted-first', 'out-of-service', 'remedied', 'fenced-power-loss', 'gates'];

process.env['FENCELINE_KUBERNETES'] ??= SECOND_VERSION;
process.env['RELEASE_ROWS'] ??= one.join(',');
await import('../release/release.test.ts');

/** S16: the real operator against a server that was restored from a backup, and the same operator without its guard. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Clock } from '../../src/clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/kube/transport.ts';
import type * as operators from '../../src/scenario/operators.ts';
import { productOperator } from '../../src/scenario/operators.ts';
import type * as runner from '../../src/scenario/runner.ts';
import { mutant } from './mutant.ts';
import { run, variation } from './run-file.ts';

const scenario = variation('operator-faults', { runFor: '30m' });
const restoredAfterMs = 5 * 60_000;
const staleAnswers = 30;

/** For a while it remembers nothing newer than the first list of nodes that it ever gave. */
function restoredFromBackup(inner: Transport, clock: Clock, onStale: () => void): Transport {
  let first: Promise<string> | undefined;
  let given = 0;
  return {
    async send(request: HttpRequest): Promise<HttpResponse> {
      const [path, query = ''] = request.path.split('?');
      if (request.method !== 'GET' || path !== '/api/v1/nodes') return inner.send(request);
      const watching = query.includes('watch=');
      const stale = clock.monotonic() > restoredAfterMs && given < staleAnswers;
      // Whoever took the old list over may watch from there.
      if (stale && watching && first !== undefined && !query.includes(`resourceVersion=${versionOf(await first)}&`)) {
        return answer(410, '{"kind":"Status","code":410}');
      }
      if (watching || query === 'limit=1') return inner.send(request);
      if (stale && first !== undefined) {
        given += 1;
        onStale();
        return answer(200, await first);
      }
      const response = await inner.send(request);
      const text = readAll(response);
      first ??= text;
      return answer(response.status, await text);
    },
    close: () => inner.close(),
  };
}

function versionOf(list: string): string {
  return (JSON.parse(list) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

async function readAll({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function answer(status: number, text: string): HttpResponse {
  const body = (async function* () {
    yield Buffer.from(text);
  })();
  return { status, headers: {}, body };
}

describe('S16', () => {
  test('the operator refuses a list older than what it knows', async () => {
    let stale = 0;
    const report = await run(scenario, {
      program: (context) =>
        productOperator({
          ...context,
          transport: restoredFromBackup(context.transport, context.clock, () => (stale += 1)),
        }),
    });
    assert.ok(stale > 0, 'it was given old lists');
    assert.deepEqual(report.violations, []);
    assert.ok(
      report.timeline.some(({ what }) => what === 'unknown: ViewTooOld'),
      'and knows that it no longer knows',
    );
  });

  test('its mutant, which takes any list, is found out, and by this checker alone', async () => {
    const sabotaged = mutant({
      file: 'src/kube/view.ts',
      line: 'if (this.#version !== undefined && compareVersions(version, this.#version) < 0) return false;',
      instead: '',
    });
    const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
    const { productOperator: mutated } = await sabotaged.load<typeof operators>('src/scenario/operators.ts');
    const report = await runScenario(scenario, () => performance.now(), {
      program: (context) =>
        mutated({ ...context, transport: restoredFromBackup(context.transport, context.clock, () => {}) }),
    });
    assert.deepEqual([...new Set(report.violations.map(({ invariant }) => invariant))], ['S16']);
    assert.match(report.violations[0]!.detail, /^operator \d knew \/api\/v1\/nodes at \d+ and went back to \d+$/);
  });
});

/**
 * The operator of a release that was kept, in the place of the present one: in the same simulated cluster, with the same devices, under
 * the same checkers. It is that release's own program, bundled when it was kept, and shares nothing with this one but what both of them
 * are run by: requests and answers, a clock, devices.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { REMEDY_NAMESPACE } from '../../src/api/fence-names.ts';
import type { HttpResponse, Transport } from '../../src/kube/transport.ts';
import { Document, TransportError } from '../../src/kube/transport.ts';
import { operatorNamespace } from '../../src/scenario/namespaces.ts';
import type { Program, ProgramContext } from '../../src/scenario/operators.ts';

const root = join(import.meta.dirname, '..', '..');
const fileOf = (version: string): string => join(root, 'test/chart/releases', version, 'operator.mjs.gz');

type Kept = typeof import('./kept-operator.ts');

/** Of the present sources, when they are released. */
export async function keepOperator(version: string): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(import.meta.dirname, 'kept-operator.ts')],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minify: true,
    legalComments: 'none',
  });
  const [bundle] = outputFiles;
  if (bundle === undefined) throw new Error('there is no bundle');
  await writeFile(fileOf(version), gzipSync(bundle.contents, { level: 9 }));
}

export async function olderOperator(version: string): Promise<(context: ProgramContext) => Program> {
  const text = gunzipSync(readFileSync(fileOf(version))).toString('base64');
  const kept = (await import(`data:text/javascript;base64,${text}`)) as Kept;
  const places = { namespace: operatorNamespace, remedyNamespace: REMEDY_NAMESPACE };
  return (context) => kept.programOf({ ...context, transport: bytesAlone(context.transport, kept) }, places);
}

/** Between two programs there are bytes and no objects; and each knows the errors of its own alone. */
function bytesAlone(inner: Transport, { TransportError: Theirs }: Kept): Transport {
  const theirs = (error: unknown): unknown =>
    error instanceof TransportError ? new Theirs(error.failure, error.message) : error;
  async function* read(body: HttpResponse['body']): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body) {
        yield piece instanceof Document ? Buffer.from(`${JSON.stringify(piece.value)}\n`) : piece;
      }
    } catch (error) {
      throw theirs(error);
    }
  }
  return {
    async send(request) {
      try {
        const response = await inner.send(request);
        return { ...response, body: read(response.body) };
      } catch (error) {
        throw theirs(error);
      }
    },
    close: () => inner.close(),
  };
}

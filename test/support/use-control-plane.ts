/** Control planes that end with the test or suite that uses them. Their logs stay if it failed. */
import { basename } from 'node:path';
import { after, afterEach, before, type SuiteContext, type TestContext } from 'node:test';
import { startControlPlane, type ControlPlane, type ControlPlaneOptions } from './control-plane.ts';

/** For one test. A failing subtest is known too late to keep the logs: use `useControlPlane` in a suite for those. */
export async function controlPlaneFor(test: TestContext, options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ name: test.fullName, ...options });
  test.after(() => end(controlPlane, test, hasFailed(test)));
  return controlPlane;
}

/** For all tests of the enclosing suite or file; the answer gives the control plane to a running test. */
export function useControlPlane(options: ControlPlaneOptions = {}): () => ControlPlane {
  let controlPlane: ControlPlane | undefined;
  let failed = false;
  before(async (context) => {
    const name = context.name === '<root>' ? basename(context.filePath ?? '', '.test.ts') : context.fullName;
    controlPlane = await startControlPlane({ name, ...options });
  });
  // A suite learns of its outcome only after its hooks ran.
  afterEach((context) => {
    failed ||= hasFailed(context);
  });
  after(async (context) => {
    if (controlPlane !== undefined) await end(controlPlane, context, failed);
  });
  return () => {
    if (controlPlane === undefined) throw new Error('the control plane starts with the first test of the suite');
    return controlPlane;
  };
}

async function end(controlPlane: ControlPlane, context: TestContext | SuiteContext, keepLogs: boolean): Promise<void> {
  await controlPlane.stop({ keepLogs });
  if (keepLogs) context.diagnostic(`the logs of the control plane are in ${controlPlane.logs}`);
}

/** Node has `passed` in every context, its type declarations only in some. */
function hasFailed(context: object): boolean {
  return (context as { readonly passed?: boolean }).passed === false;
}

/** The contract on the real kube-apiserver: what fails here is a wrong idea of Kubernetes. */
import { after, describe, test } from 'node:test';
import { suites } from '../contract/cases/index.ts';
import { Api } from '../contract/contract.ts';
import { realDriver } from '../contract/real-driver.ts';
import { useControlPlane } from '../support/use-control-plane.ts';

const controlPlane = useControlPlane();
const closers: (() => void)[] = [];
after(() => closers.forEach((close) => close()));
let count = 0;

for (const [suite, cases] of Object.entries(suites)) {
  describe(`contract: ${suite}`, { concurrency: 8 }, () => {
    for (const { name, run } of cases) {
      const id = `c${(count += 1)}`;
      test(name, async () => {
        const driver = realDriver(controlPlane());
        closers.push(() => driver.close());
        const api = new Api(driver, id);
        await api.setUp();
        try {
          await run(api);
        } finally {
          await api.tearDown();
        }
      });
    }
  });
}

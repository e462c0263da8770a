/** A replica of what helm has installed, as a process: with the arguments of its Deployment and the token of its account. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { ControlPlane } from '../support/control-plane.ts';
import { writeKubeconfig } from '../support/control-plane/files.ts';
import { OperatorProcess } from '../support/operator-process.ts';

const namespace = 'fenceline';

export interface Deployment {
  spec: {
    template: {
      spec: {
        containers: [{ image: string; args: string[] }];
        volumes?: { name: string; secret?: { secretName: string } }[];
      };
    };
  };
  status?: { conditions?: { type: string; message: string }[] };
}

/** The kubeconfig of its account. */
export async function accountOf(controlPlane: ControlPlane): Promise<string> {
  const minted = await controlPlane.kubectl(['create', 'token', 'fenceline', '-n', namespace]);
  assert.equal(minted.code, 0, minted.stderr);
  const path = join(controlPlane.dir, 'replica.kubeconfig');
  const user = { token: minted.stdout.trim() };
  await writeKubeconfig({ path, url: controlPlane.url, caPem: controlPlane.caCert, user });
  return path;
}

export async function replicaOf(controlPlane: ControlPlane): Promise<OperatorProcess> {
  const path = await accountOf(controlPlane);
  const read = await controlPlane.kubectl(['get', 'deployment', 'fenceline', '-n', namespace, '-o', 'json']);
  assert.equal(read.code, 0, read.stderr);
  const [{ args }] = (JSON.parse(read.stdout) as Deployment).spec.template.spec.containers;
  const [run, ...rest] = args;
  assert.equal(run, 'run');
  const here = ['--kubeconfig', path, '--namespace', namespace, '--bind-address', '127.0.0.1:0'];
  return new OperatorProcess([...rest, ...here], { ...process.env, FENCELINE_NODE_NAME: 'node-of-the-replica' });
}

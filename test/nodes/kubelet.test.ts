/** The contract of the kubelet on the stock one, with containerd, on a node of its own. */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureNodePrograms } from '../../control-plane/build.ts';
import { realClock } from '../../src/clock.ts';
import type { KubeletRequest, NodeUnderTest, Subject } from '../contract/kubelet/subject.ts';
import { contractTimes, driver, nodeLabels, nodeName } from '../contract/kubelet/subject.ts';
import { kubeletContract } from '../contract/kubelet/suite.ts';
import { clientFor } from '../support/client.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { NodeNetwork } from '../support/real-node/network.ts';
import { RealNode } from '../support/real-node/real-node.ts';

const kubelet = `system:node:${nodeName}`;

async function real(): Promise<Subject> {
  const binaries = await ensureNodePrograms();
  await NodeNetwork.removeAbandoned();
  const network = await NodeNetwork.make();
  const token = randomBytes(16).toString('hex');
  const controlPlane = await startControlPlane({
    name: 'kubelet-contract',
    audit: 'Request',
    users: [{ name: kubelet, groups: ['system:nodes'], token }],
    apiserver: {
      // With what a real cluster lets a kubelet do, and no more.
      flags: ['--bind-address=0.0.0.0', '--authorization-mode=Node', '--enable-admission-plugins=NodeRestriction'],
    },
  });
  const node = await RealNode.start({
    name: nodeName,
    binaries,
    network,
    api: { port: controlPlane.port, caPem: controlPlane.caCert, token },
    logDir: controlPlane.logs,
    times: contractTimes,
    labels: nodeLabels,
    drivers: [driver],
  });
  const client = clientFor(controlPlane);
  return {
    clock: realClock,
    random: Math.random,
    client,
    node: handled(node),
    requests: () => requestsOf(controlPlane),
    async stop(failed) {
      client.close();
      await node.remove();
      await controlPlane.stop({ keepLogs: failed });
      await network.remove();
    },
  };
}

function handled(node: RealNode): NodeUnderTest {
  const path = ({ name, namespace }: { name: string; namespace: string }): string =>
    join(node.manifestDir, `${namespace}.${name}.json`);
  return {
    bootId: () => node.bootId(),
    containersOf: (podUid) => node.containersOf(podUid),
    mountsOf: (podUid) => node.mountsOf(podUid),
    stopKubelet: () => node.stopKubelet(),
    startKubelet: () => node.startKubelet(),
    partition: () => node.partition(),
    heal: () => node.heal(),
    powerOff: () => node.powerOff(),
    powerOn: () => node.powerOn(),
    addStaticPod: (file) => {
      const { name, namespace, spec } = file;
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec };
      return writeFile(path(file), JSON.stringify(pod));
    },
    removeStaticPod: (file) => rm(path(file)),
  };
}

async function requestsOf(controlPlane: ControlPlane): Promise<KubeletRequest[]> {
  const events = await controlPlane.auditEvents();
  return events
    .filter(({ user, stage }) => user.username === kubelet && stage === 'ResponseComplete')
    .map(({ verb, objectRef, requestObject }) => ({
      verb,
      resource: objectRef?.resource ?? '',
      namespace: objectRef?.namespace ?? '',
      name: objectRef?.name ?? '',
      body: requestObject,
    }));
}

const thorough = process.env['FENCELINE_EXHAUSTIVE'] === '1';
kubeletContract('the stock kubelet with containerd', { concurrency: 8, thorough }, real);

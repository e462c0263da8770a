/** What a machine has to have so that real nodes can run on it. */
import { access, constants } from 'node:fs/promises';
import { ensureControlPlane, ensureHelm, ensureNodePrograms } from '../../../control-plane/build.ts';
import { ensurePackages } from '../debian.ts';
import { ensureGuest } from './guest.ts';

const packages = [
  { name: 'containerd', file: 'containerd' },
  { name: 'runc', file: 'runc' },
  { name: 'containernetworking-plugins', file: '/usr/lib/cni/ptp' },
  { name: 'iproute2', file: 'ip' },
  { name: 'libnbd-bin', file: 'nbdfuse' },
  { name: 'fuse3', file: 'fusermount3' },
  { name: 'e2fsprogs', file: 'mkfs.ext4' },
  { name: 'util-linux', file: 'nsenter' },
  // Of the image that the operator runs in, which is made of what this machine has; and what its agents talk to.
  { name: 'fence-agents', file: '/usr/sbin/fence_ipmilan' },
  { name: 'ipmitool', file: 'ipmitool' },
  { name: 'snmp', file: 'snmpget' },
  { name: 'openssh-client', file: 'ssh' },
  { name: 'openipmi', file: 'ipmi_sim' },
] as const;

export const cniPlugins = '/usr/lib/cni';

/** Beyond those of any real node. */
const machinePackages = [
  { name: 'qemu-system-x86', file: 'qemu-system-x86_64' },
  { name: 'busybox-static', file: 'busybox' },
  { name: 'kmod', file: 'depmod' },
] as const;

/** Throws, with one line why, where real nodes cannot run. */
export async function ensureRealNodes(): Promise<void> {
  if (process.platform !== 'linux') throw new Error('a real node needs Linux');
  if (process.getuid?.() !== 0) throw new Error('a real node needs root: namespaces, cgroups and mounts');
  await ensurePackages('a real node', packages);
  // One after the other: most of what the kubelet is compiled from, the control plane is, too.
  await ensureControlPlane();
  await ensureNodePrograms();
  await ensureHelm();
}

/** The same for nodes that are virtual machines. Real nodes can run. */
export async function ensureVirtualMachines(): Promise<void> {
  if (process.arch !== 'x64') throw new Error('a virtual machine has the kernel of Debian for x64');
  await ensurePackages('a virtual machine', machinePackages);
  await access('/dev/net/tun', constants.R_OK | constants.W_OK);
  await ensureGuest();
}

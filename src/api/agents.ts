/**
 * Which fence agents are run, of ClusterLabs' fence-agents 4.12. A name that is not here is not run: an agent is a program
 * that runs with the rights of the operator and decides whether a machine counts as dead.
 */
import { likeliest } from './nearest.ts';

/** By ipmitool. */
export const ipmiAgents = [
  'fence_idrac',
  'fence_ilo3',
  'fence_ilo4',
  'fence_ilo5',
  'fence_imm',
  'fence_ipmilan',
  'fence_ipmilanplus',
] as const;

/** Log in once, to a console or a shell by telnet or ssh, and type there: a failed login proves that nothing was done. */
export const consoleAgents = [
  'fence_alom',
  'fence_apc',
  'fence_bladecenter',
  'fence_brocade',
  'fence_cdu',
  'fence_cyberpower_ssh',
  'fence_drac',
  'fence_drac5',
  'fence_hds_cb',
  'fence_hpblade',
  'fence_ilo3_ssh',
  'fence_ilo4_ssh',
  'fence_ilo5_ssh',
  'fence_ilo_moonshot',
  'fence_ilo_mp',
  'fence_ilo_ssh',
  'fence_ldom',
  'fence_lpar',
  'fence_netio',
  'fence_raritan',
  'fence_raritan_px3',
  'fence_rsa',
  'fence_rsb',
  'fence_sanbox2',
  'fence_vbox',
  'fence_virsh',
  'fence_wti',
] as const;

export const snmpAgents = [
  'fence_apc_snmp',
  'fence_cisco_mds',
  'fence_eaton_snmp',
  'fence_emerson',
  'fence_ibmblade',
  'fence_ifmib',
  'fence_intelmodular',
  'fence_ipdu',
  'fence_lindypdu',
  'fence_tripplite_snmp',
] as const;

const others = [
  'fence_aliyun',
  'fence_cisco_ucs',
  'fence_docker',
  'fence_ecloud',
  'fence_eps',
  'fence_ibm_powervs',
  'fence_ibm_vpc',
  'fence_ibmz',
  'fence_ilo',
  'fence_ilo2',
  'fence_ironic',
  'fence_kubevirt',
  'fence_powerman',
  'fence_pve',
  'fence_redfish',
  'fence_rhevm',
  'fence_vmware_vcloud',
  'fence_xenapi',
  'fence_zvmip',
] as const;

export const ALLOWED_AGENTS: readonly string[] = [...ipmiAgents, ...consoleAgents, ...snmpAgents, ...others].sort();

const native = (driver: string): string => `use driver=${driver}, which is built in, instead`;
const noDevice = 'it switches nothing off';

/** Agents that exist and are not run, with the reason and what to use instead. */
const REFUSED_AGENTS: Readonly<Record<string, string>> = {
  fence_aws: `outside of EC2 it waits for the metadata service without end: ${native('aws')}`,
  fence_gce: native('gce'),
  fence_azure_arm: native('azure'),
  fence_openstack: native('openstack'),
  fence_vmware: native('vsphere'),
  fence_vmware_rest: native('vsphere'),
  fence_vmware_soap: native('vsphere'),
  fence_ack_manual: `${noDevice}: a person says that the machine is off. Taint the node as out of service instead`,
  fence_dummy: `${noDevice}: it is for tests of Pacemaker`,
  fence_heuristics_ping: `${noDevice}: it only looks whether others can be reached`,
  fence_kdump: `${noDevice}: enable kdump in the policy instead, which listens for the same messages`,
  fence_sbd: 'it needs the shared disk and the watchdog of the node itself',
  fence_scsi: 'it has to run on the nodes that share the disk',
  fence_mpath: 'it has to run on the nodes that share the disk',
  fence_compute: `${noDevice}: it moves the instances of an OpenStack host`,
  fence_evacuate: `${noDevice}: it moves the instances of an OpenStack host`,
  fence_crosslink: 'it has to run on the peer of the node',
  fence_rcd_serial: 'it cannot tell whether the machine is off',
  fence_ovh: 'it cannot tell whether the machine is off',
  fence_amt: 'it reports a machine that sleeps as off, and a sleeping one goes on where it was',
  fence_skalar: 'it reports a machine as off when the host that it runs on cannot be reached',
};

/** A name that can be a file of the agents' directory and nothing else. */
const NAME = /^fence_[a-z0-9]+(?:_[a-z0-9]+){0,4}$/;

/** Why this agent is not run, or undefined. */
export function whyNotAllowed(name: string): string | undefined {
  if (!NAME.test(name)) return 'the name of a fence agent looks like fence_ipmilan: no path, lower case';
  if (ALLOWED_AGENTS.includes(name)) return undefined;
  const refused = REFUSED_AGENTS[name];
  if (refused !== undefined) return refused;
  const near = likeliest(name, ALLOWED_AGENTS);
  return `${name} is not among the fence agents that are run${near === undefined ? '' : `: did you mean ${near}?`}`;
}

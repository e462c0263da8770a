/**
 * Which fence agents are run, and what is known of each: read from the source of ClusterLabs' fence-agents 4.12. A name
 * that is not here is not run: an agent is a program that runs with the rights of the operator and decides whether a
 * machine counts as dead.
 */

const ipmi = [
  'fence_idrac',
  'fence_ilo3',
  'fence_ilo4',
  'fence_ilo5',
  'fence_imm',
  'fence_ipmilan',
  'fence_ipmilanplus',
] as const;

/** Log in once, before anything else is sent: a failed login proves that nothing was done. */
const loginFirst = [
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

const others = [
  'fence_aliyun',
  'fence_apc_snmp',
  'fence_cisco_mds',
  'fence_cisco_ucs',
  'fence_docker',
  'fence_eaton_snmp',
  'fence_ecloud',
  'fence_emerson',
  'fence_eps',
  'fence_ibm_powervs',
  'fence_ibm_vpc',
  'fence_ibmblade',
  'fence_ibmz',
  'fence_ifmib',
  'fence_ilo',
  'fence_ilo2',
  'fence_intelmodular',
  'fence_ipdu',
  'fence_ironic',
  'fence_kubevirt',
  'fence_lindypdu',
  'fence_powerman',
  'fence_pve',
  'fence_redfish',
  'fence_rhevm',
  'fence_tripplite_snmp',
  'fence_vmware_vcloud',
  'fence_xenapi',
  'fence_zvmip',
] as const;

export const ALLOWED_AGENTS: readonly string[] = [...ipmi, ...loginFirst, ...others].sort();

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
  return REFUSED_AGENTS[name] ?? 'it is not among the fence agents that are run';
}

export function isIpmi(name: string): boolean {
  return (ipmi as readonly string[]).includes(name);
}

/**
 * These take everything that is not a clear "on" for "off": what SNMP answers for an outlet that does not exist, or a
 * virtual machine that is missing. Their "off" is believed only when their list has the plug.
 */
const offByDefault = [
  'fence_apc_snmp',
  'fence_cisco_mds',
  'fence_cisco_ucs',
  'fence_emerson',
  'fence_ibmblade',
  'fence_ifmib',
  'fence_intelmodular',
  'fence_ipdu',
  'fence_kubevirt',
  'fence_rhevm',
  'fence_tripplite_snmp',
  'fence_virsh',
  'fence_zvmip',
];

export function saysOffByDefault(name: string): boolean {
  return offByDefault.includes(name);
}

/** These use the message of a failed first status also later, when the action may have been done. */
const repeatStatusFailure = [
  'fence_apc',
  'fence_bladecenter',
  'fence_cdu',
  'fence_cisco_ucs',
  'fence_cyberpower_ssh',
  'fence_hpblade',
  'fence_ibm_powervs',
  'fence_ibm_vpc',
  'fence_ilo_moonshot',
  'fence_kubevirt',
  'fence_powerman',
  'fence_vmware_vcloud',
];

/** The agents' library looks at its input before it talks to anything; these are its complaints, and only its. */
const inputRefused = [
  "Failed: Unrecognised action '",
  'Failed: You have to set login name',
  'Failed: You have to enter fence address',
  'Failed: You have to enter password',
  'Failed: You have to use identity file together with ssh connection',
  'Failed: You have to enter plug number or machine identification',
  'Failed: You have to enter a valid choice for',
  'Failed: The value you have entered for',
];
/** Whom the certificate does not convince gets no request. */
const certificateRefused = ['CERTIFICATE_VERIFY_FAILED', 'certificate verify failed', 'SSL certificate problem'];
const loginFailed = 'Unable to connect/login to fencing device';
const firstStatusFailed = 'Failed: Unable to obtain correct plug status or plug is not available';

/**
 * Whether what an agent said when it failed proves that it did nothing. Every failure has the same exit code, and most
 * messages can come before as well as after the action; those prove nothing.
 */
export function provesNothingDone(name: string, said: string): boolean {
  if ([...inputRefused, ...certificateRefused].some((message) => said.includes(message))) return true;
  if (said.includes(loginFailed)) return (loginFirst as readonly string[]).includes(name);
  return said.includes(firstStatusFailed) && !repeatStatusFailure.includes(name);
}

/** What is known of the answers of each fence agent: read from the source of ClusterLabs' fence-agents 4.12. */
import { consoleAgents, ipmiAgents } from '../api/agents.ts';

export function isIpmi(name: string): boolean {
  return (ipmiAgents as readonly string[]).includes(name);
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
  if (said.includes(loginFailed)) return (consoleAgents as readonly string[]).includes(name);
  return said.includes(firstStatusFailed) && !repeatStatusFailure.includes(name);
}

import { deviceContract } from './contract.ts';
import { eaton } from './endpoints/snmp.ts';

deviceContract(eaton);

import { deviceContract } from './contract.ts';
import { redfish } from './endpoints/redfish.ts';

deviceContract(redfish);

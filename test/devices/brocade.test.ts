import { deviceContract } from './contract.ts';
import { brocade } from './endpoints/brocade.ts';

deviceContract(brocade);

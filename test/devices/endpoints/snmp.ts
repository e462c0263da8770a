/** Power distribution units that speak SNMP: the outlets of an APC and of an Eaton, by the objects that each has. */
import snmp, { type MibRequest } from 'net-snmp';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import type { Endpoint, EndpointFault, Machine, Subject, Variant } from '../endpoint.ts';
import { agentDevices, freePort, Workshop } from './workshop.ts';

const canary = 'SnmpCanary0815';
/** The plugs of the machines, as an administrator counts them; there are four. */
const plugs = { a: '2', b: '3' } as const;

interface Model {
  agent: string;
  systemOid: string;
  /** Where states are read and where they are set; each the entry of a table with a row for every outlet. */
  status: { entry: string; column: number };
  control: { entry: string; column: number };
  on: number;
  off: number;
  /** What the first outlet is called in the tables. */
  firstRow: number;
}

const apcModel: Model = {
  agent: 'fence_apc_snmp',
  systemOid: '1.3.6.1.4.1.318.1.3.4.5',
  status: { entry: '1.3.6.1.4.1.318.1.1.12.3.5.1.1', column: 4 },
  control: { entry: '1.3.6.1.4.1.318.1.1.12.3.3.1.1', column: 4 },
  on: 1,
  off: 2,
  firstRow: 1,
};

const eatonModel: Model = {
  agent: 'fence_eaton_snmp',
  systemOid: '1.3.6.1.4.1.534.6.6.6',
  status: { entry: '1.3.6.1.4.1.534.6.6.6.1.2.2.1', column: 3 },
  control: { entry: '1.3.6.1.4.1.534.6.6.6.1.2.2.1', column: 3 },
  on: 1,
  off: 0,
  firstRow: 0,
};

export interface Outlet {
  power: 'on' | 'off';
  fault: EndpointFault;
  held: 'on' | 'off' | undefined;
  actions: number;
}

type OnSet = (plug: string, power: 'on' | 'off') => void;

class Pdu {
  readonly outlets = new Map<string, Outlet>();
  readonly #model: Model;
  readonly #onSet: OnSet;

  constructor(model: Model, onSet: OnSet) {
    this.#model = model;
    this.#onSet = onSet;
    for (const plug of ['1', '2', '3', '4']) {
      this.outlets.set(plug, { power: 'on', fault: 'none', held: undefined, actions: 0 });
    }
  }

  outlet(machine: Machine): Outlet {
    const outlet = this.outlets.get(plugs[machine]);
    if (outlet === undefined) throw new Error(`no outlet for ${machine}`);
    return outlet;
  }

  handle(request: MibRequest, column: number): void {
    const [requested, row] = request.instanceNode.oid.split('.').slice(-2).map(Number);
    const plug = String((row ?? 0) - this.#model.firstRow + 1);
    const outlet = this.outlets.get(plug);
    if (outlet === undefined || requested !== column) {
      request.done();
      return;
    }
    if (outlet.fault === 'hangs') return;
    const { on, off } = this.#model;
    if (request.operation === snmp.PduType.SetRequest) {
      if (request.commitSet) {
        const power = request.setValue === on ? 'on' : 'off';
        this.#set(outlet, power);
        this.#onSet(plug, power);
      }
      const fails = outlet.fault === 'refuses' || (request.commitSet && outlet.fault === 'reportsFailure');
      request.done(fails ? { errorStatus: snmp.ErrorStatus.GeneralError } : undefined);
      return;
    }
    request.instanceNode.value = outlet.power === 'on' ? on : off;
    request.done();
  }

  #set(outlet: Outlet, power: 'on' | 'off'): void {
    outlet.actions += 1;
    if (outlet.fault === 'late') outlet.held = power;
    else if (outlet.fault !== 'ignores') outlet.power = power;
  }
}

function startAgent(model: Model, pdu: Pdu, port: number): () => Promise<void> {
  const agent = snmp.createAgent({ port, address: '127.0.0.1', disableAuthorization: false }, () => {});
  agent.getAuthorizer().addCommunity(canary);
  const scalar = (name: string, oid: string, scalarType: number): void =>
    agent.registerProvider({
      name,
      oid,
      scalarType,
      type: snmp.MibProviderType.Scalar,
      maxAccess: snmp.MaxAccess['read-only'],
    });
  scalar('sysObjectID', '1.3.6.1.2.1.1.2', snmp.ObjectType.OID);
  agent.getMib().setScalarValue('sysObjectID', model.systemOid);
  const tables = new Map([
    [model.status.entry, model.status.column],
    [model.control.entry, model.control.column],
  ]);
  for (const [entry, column] of tables) {
    const { Integer, OctetString } = snmp.ObjectType;
    const [readOnly, readWrite] = [snmp.MaxAccess['read-only'], snmp.MaxAccess['read-write']];
    agent.registerProvider({
      name: entry,
      type: snmp.MibProviderType.Table,
      oid: entry,
      maxAccess: snmp.MaxAccess['not-accessible'],
      tableColumns: [
        { number: 1, name: 'index', type: Integer, maxAccess: readOnly },
        { number: 2, name: 'name', type: OctetString, maxAccess: readOnly },
        { number: column, name: 'state', type: Integer, maxAccess: readWrite },
      ],
      tableIndex: [{ columnName: 'index' }],
      handler: (request) => pdu.handle(request, column),
    });
    for (const plug of pdu.outlets.keys()) {
      const row = Number(plug) - 1 + model.firstRow;
      agent.getMib().addTableRow(entry, [row, `Outlet ${plug}`, model.on]);
    }
  }
  // Something behind the tables: a walk that comes to the end of everything is told of an outlet that is not there.
  scalar('end', '1.3.6.1.4.1.99999.1', snmp.ObjectType.Integer);
  agent.getMib().setScalarValue('end', 1);
  return () =>
    new Promise((resolve) => {
      agent.close(() => resolve());
    });
}

export interface PduEndpoint extends Endpoint {
  /** By plug: what comes out of each, whoever switches it. */
  outlets: ReadonlyMap<string, Outlet>;
  parameters(machine: Machine, variant?: Variant): DeviceParameters;
}

/** `onSet` hears of every command that is taken, after it took effect. */
export async function startPdu(model: Model, onSet: OnSet = () => {}): Promise<PduEndpoint> {
  return Workshop.build(async (workshop) => {
    const devices = await agentDevices(model.agent);
    const pdu = new Pdu(model, onSet);
    const port = await freePort('udp');
    workshop.onClose(startAgent(model, pdu, port));
    const parameters: PduEndpoint['parameters'] = (machine, { credential, wiredTo = machine } = {}) => {
      const isFaulty = pdu.outlet(machine).fault !== 'none';
      const plain = {
        ip: '127.0.0.1',
        ipport: String(port),
        plug: plugs[wiredTo],
        snmp_version: '1',
        ...(isFaulty && { power_timeout: '2' }),
        // A device that does not know the community stays silent, and the agent need not wait long for it.
        ...(credential === 'wrong' && { shell_timeout: '1', login_timeout: '1' }),
      };
      return { plain, secret: { community: credential === 'wrong' ? `${canary}x` : canary } };
    };
    return {
      outlets: pdu.outlets,
      parameters,
      device: (machine, variant = {}) =>
        devices(parameters(machine, variant), variant.timeoutMs === undefined ? {} : { timeoutMs: variant.timeoutMs }),
      power: (machine) => Promise.resolve(pdu.outlet(machine).power),
      async setPower(machine, power) {
        pdu.outlet(machine).power = power;
      },
      async fault(machine, fault) {
        Object.assign(pdu.outlet(machine), { fault, actions: 0 });
      },
      async catchUp(machine) {
        const outlet = pdu.outlet(machine);
        outlet.power = outlet.held ?? outlet.power;
      },
      actions: (machine) => Promise.resolve(pdu.outlet(machine).actions),
      stop: () => workshop.close(),
    };
  });
}

const common: Pick<Subject, 'faults' | 'wrongCredential' | 'checksTrust' | 'canary' | 'handedOnTo'> = {
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  wrongCredential: 'unknown',
  checksTrust: false,
  canary,
  handedOnTo: ['snmpget', 'snmpset', 'snmpwalk'],
};

export const startEaton = (onSet?: OnSet): Promise<PduEndpoint> => startPdu(eatonModel, onSet);
export const startApc = (): Promise<PduEndpoint> => startPdu(apcModel);
export const apc: Subject = { name: 'SNMP: fence_apc_snmp against APC outlets', start: startApc, ...common };
export const eaton: Subject = {
  name: 'SNMP: fence_eaton_snmp against Eaton outlets',
  start: () => startEaton(),
  ...common,
};

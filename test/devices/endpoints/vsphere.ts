/** vCenter: govmomi's simulator over TLS, and before it a door of ours in which the faults are. */
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { vsphere as cloud } from '../../../src/devices/clouds/vsphere.ts';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import { createCertificateAuthority } from '../../support/certificates.ts';
import type { Endpoint, Machine, Subject, Variant } from '../endpoint.ts';
import { cloudEndpoint, Faults, LineProcess, openDoor, SILENCE, type Asked, type Reply } from './cloud.ts';
import { ensureVcsim } from './vcsim.ts';
import { Workshop } from './workshop.ts';

const canary = `Vsphere<Canary>&'"1984`;

interface Virtual {
  name: string;
  uuid: string;
  id: string;
}

interface Started {
  host: string;
  machines: [Virtual, Virtual, Virtual, Virtual];
}

export interface VsphereEndpoint extends Endpoint {
  machines: Record<Machine | 'c' | 'd', Virtual>;
  parameters(machine: Machine, variant?: Variant): DeviceParameters;
  /** A property of a machine, such as `runtime.connectionState`. */
  setProperty(id: string, property: string, value: string): Promise<void>;
  /** What the door was asked, by the names of the methods. */
  asked: string[];
  /** A task that ends in error is what the next command gets. */
  endNextTaskWith(fault: string): void;
  /** The next call of this method finds that its session has ended. */
  endSessionBefore(method: string): void;
}

const identity: Record<Machine, string> = { a: '', b: '' };

export async function startVsphere(): Promise<VsphereEndpoint> {
  return Workshop.build(async (workshop) => {
    const authority = createCertificateAuthority();
    const { certPem, keyPem } = authority.issue({ commonName: 'vcenter', hosts: ['127.0.0.1'] });
    const vcsim = new LineProcess(workshop.start(await ensureVcsim(), []));
    const settings = { username: 'fencing@vsphere.local', password: canary, certificate: certPem, key: keyPem };
    const started = JSON.parse(await vcsim.ask(JSON.stringify(settings))) as Started;
    const [a, b, c, d] = started.machines;
    Object.assign(identity, { a: a.uuid, b: b.uuid });
    const setProperty = async (id: string, property: string, value: string): Promise<void> => {
      await vcsim.ask(`set ${id} ${property} ${value}`);
    };
    const setPower: Endpoint['setPower'] = (machine, power) =>
      setProperty({ a, b }[machine].id, 'runtime.powerState', power === 'on' ? 'poweredOn' : 'poweredOff');
    const front = new Front({ a, b }, { passOn: (asked) => passOn(started.host, authority.certPem, asked), setPower });
    const door = await openDoor(workshop, (asked) => front.handle(asked));
    const parameters: VsphereEndpoint['parameters'] = (machine, { wiredTo = machine, trust, credential } = {}) => ({
      plain: {
        instance: { a, b }[wiredTo].uuid,
        endpoint: door.url,
        username: settings.username,
      },
      secret: {
        password: credential === 'wrong' ? canary.toLowerCase() : canary,
        ca: trust === 'missing' ? door.strangersCa : door.ca,
      },
    });
    const { faults } = front;
    return {
      machines: { a, b, c, d },
      parameters,
      setProperty,
      asked: front.asked,
      endNextTaskWith: (fault) => {
        front.taskFault = fault;
      },
      endSessionBefore: (method) => {
        front.endedBefore = method;
      },
      ...cloudEndpoint(workshop, { cloud, faults, parameters }),
      power: async (machine) => ((await vcsim.ask(`get ${{ a, b }[machine].id}`)) === 'poweredOff' ? 'off' : 'on'),
      setPower,
    };
  });
}

interface Hands {
  passOn: (asked: Asked) => Promise<Reply>;
  setPower: Endpoint['setPower'];
}

/** Passes on what it is asked, and spoils what a fault says to spoil. */
class Front {
  readonly faults = new Faults();
  readonly asked: string[] = [];
  taskFault: string | undefined;
  endedBefore: string | undefined;
  #looks = 0;
  readonly #machines: Record<Machine, Virtual>;
  readonly #hands: Hands;

  constructor(machines: Record<Machine, Virtual>, hands: Hands) {
    this.#machines = machines;
    this.#hands = hands;
  }

  async handle(asked: Asked): Promise<Reply | typeof SILENCE> {
    const { body } = asked;
    const method = /<(\w+) xmlns="urn:vim25">/.exec(body)?.[1] ?? '';
    this.asked.push(method);
    const machine = (['a', 'b'] as const).find((one) => {
      const { id, uuid } = this.#machines[one];
      return body.includes(`>${id}<`) || body.includes(uuid);
    });
    if (machine !== undefined && this.faults.of[machine] === 'hangs') return SILENCE;
    if (method === this.endedBefore) {
      this.endedBefore = undefined;
      return faultReply('NotAuthenticated');
    }
    const own = /type="Task">task-of-ours-(\w+)</.exec(body)?.[1];
    if (own !== undefined) {
      // Nothing ends at the first look.
      this.#looks += 1;
      return taskReply(this.#looks === 1 ? 'running' : own);
    }
    if (machine === undefined || !/^Power\w+_Task$/.test(method)) return this.#hands.passOn(asked);
    return this.#spoiled(machine, method, asked);
  }

  async #spoiled(machine: Machine, method: string, asked: Asked): Promise<Reply> {
    this.faults.actions[machine] += 1;
    this.#looks = 0;
    const { taskFault } = this;
    if (taskFault !== undefined) {
      this.taskFault = undefined;
      return methodReply(method, `<returnval type="Task">task-of-ours-${taskFault}</returnval>`);
    }
    switch (this.faults.of[machine]) {
      case 'refuses':
        return faultReply('NoPermission');
      case 'ignores':
        return methodReply(method, '<returnval type="Task">task-of-ours-success</returnval>');
      case 'late':
        // The session that told it has ended by then.
        this.faults.held[machine] = () => this.#hands.setPower(machine, method === 'PowerOnVM_Task' ? 'on' : 'off');
        return methodReply(method, '<returnval type="Task">task-of-ours-running</returnval>');
      case 'reportsFailure':
        await this.#hands.passOn(asked);
        return { status: 500, body: 'internal error' };
      default:
        return this.#hands.passOn(asked);
    }
  }
}

function envelope(status: number, body: string): Reply {
  const spaces =
    'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  return {
    status,
    headers: { 'content-type': 'text/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope ${spaces}><soapenv:Body>${body}</soapenv:Body></soapenv:Envelope>`,
  };
}

function methodReply(method: string, body: string): Reply {
  return envelope(200, `<${method}Response xmlns="urn:vim25">${body}</${method}Response>`);
}

/** As vCenter writes it: the kind is the name of the element. */
function faultReply(type: string): Reply {
  const detail = `<detail><${type}Fault xmlns="urn:vim25" xsi:type="${type}"></${type}Fault></detail>`;
  return envelope(
    500,
    `<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>it is not to be</faultstring>${detail}</soapenv:Fault>`,
  );
}

function taskReply(state: string): Reply {
  const known = ['running', 'success'].includes(state);
  const property = (name: string, value: string): string => `<propSet><name>${name}</name>${value}</propSet>`;
  const error = `<val xsi:type="LocalizedMethodFault"><fault xsi:type="${state}"/><localizedMessage>it went wrong</localizedMessage></val>`;
  const properties = known
    ? property('info.state', `<val xsi:type="TaskInfoState">${state}</val>`)
    : property('info.state', '<val xsi:type="TaskInfoState">error</val>') + property('info.error', error);
  const objects = `<objects><obj type="Task">task-of-ours-${state}</obj>${properties}</objects>`;
  return methodReply('RetrievePropertiesEx', `<returnval>${objects}</returnval>`);
}

function passOn(host: string, ca: string, { method, url, rawHeaders, body }: Asked): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = [...rawHeaders];
    const asked = request(`https://${host}${url.pathname}`, { method, headers, ca, agent: false }, (response) => {
      const cookie = response.headers['set-cookie']?.[0];
      text(response).then((body) => {
        const headers = { 'content-type': 'text/xml', ...(cookie !== undefined && { 'set-cookie': cookie }) };
        resolve({ status: response.statusCode ?? 0, headers, body });
      }, reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

export const vsphere: Subject = {
  name: 'vSphere: our driver against govmomi’s simulator over TLS',
  start: startVsphere,
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  identity,
  wrongCredential: 'refused',
  checksTrust: true,
  canary,
};

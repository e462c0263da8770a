/**
 * Virtual machines of VMware vSphere, by the SOAP interface of vCenter or a single ESXi. Each question has a session of
 * its own and ends it: a vCenter that a fleet of nodes is checked on would otherwise run out of sessions.
 */
import { firmwareOrder } from '../../api/machine.ts';
import type { Cloud, CloudInstance, PowerStatus } from './interface.ts';
import { whyNoEndpoint, type Values } from './parameters.ts';
import { faultType, referenceIn, SoapFault, SoapSession, type Reference } from './soap.ts';
import { Failure, type Turn } from './turn.ts';
import { elementsAt, escapeXml, textAt, type XmlElement } from './xml.ts';

const PAGE_LIMIT = 200;

export const vsphere: Cloud = {
  name: 'vsphere',
  rules: {
    endpoint: {
      isRequired: true,
      hint: 'write the address of vCenter, such as https://vcenter.example',
      why: whyNoEndpoint,
    },
    username: { isRequired: true, pattern: /^[^\p{C}]+$/u, hint: 'write username=…, such as fencing@vsphere.local' },
    password: { isCredential: true, isRequired: true, hint: 'write the password' },
  },
  connect(value) {
    const instance = value('instance');
    return instance === undefined ? undefined : new VsphereMachine(instance, value);
  },
};

/** Faults with which a command is turned down; any other may come after it has begun. */
const nothingDone = [
  'InvalidPowerState',
  'NoPermission',
  'NotAuthenticated',
  'ManagedObjectNotFound',
  'RestrictedVersion',
];

class VsphereMachine implements CloudInstance {
  readonly #instance: string;
  readonly #url: URL;
  readonly #credentials: { username: string; password: string };

  constructor(instance: string, value: Values) {
    this.#instance = instance;
    const endpoint = (value('endpoint') ?? '').replace(/\/+$/, '');
    this.#url = new URL(endpoint.endsWith('/sdk') ? endpoint : `${endpoint}/sdk`);
    this.#credentials = { username: value('username') ?? '', password: value('password') ?? '' };
  }

  status(turn: Turn): Promise<PowerStatus> {
    return this.#inSession(turn, async (session) => {
      const machine = await this.#find(session);
      const paths = ['runtime.powerState', 'runtime.connectionState', 'config.uuid'];
      const read = await propertiesOf(session, machine, paths);
      const [power = 'absent', connection = 'absent', uuid] = paths.map((path) => textOf(read.get(path)));
      // Of a host that it has lost, vCenter tells what it last knew.
      if (connection !== 'connected') throw new Failure('unknown', `${machine.id} is ${connection}, power ${power}`);
      const identity =
        uuid === undefined || uuid === '' ? {} : { identity: { kind: 'systemUUID', value: uuid } as const };
      if (power === 'poweredOn') return { power: 'on', ...identity };
      if (power === 'poweredOff') return { power: 'off', ...identity };
      throw new Failure('unknown', `the power state of ${machine.id} is ${power}`);
    });
  }

  switchTo(power: 'on' | 'off', turn: Turn): Promise<void> {
    return this.#inSession(turn, async (session) => {
      const machine = await this.#find(session);
      // The power is cut; the guest is not asked.
      const [task] = await session.call(power === 'off' ? 'PowerOffVM_Task' : 'PowerOnVM_Task', machine);
      if (task === undefined) throw new Failure('unknown', 'the answer names no task');
      const paths = ['info.state', 'info.error'];
      await turn.follow(async () => {
        const read = await propertiesOf(session, referenceIn(task), paths);
        const state = textOf(read.get('info.state'));
        if (state === 'error') throw taskFailure(read.get('info.error'));
        return { hasEnded: state === 'success' };
      });
    });
  }

  async #inSession<T>(turn: Turn, work: (session: SoapSession) => Promise<T>): Promise<T> {
    const session = new SoapSession(turn, this.#url, this.#credentials);
    try {
      await session.logIn();
      return await work(session);
    } catch (error) {
      throw error instanceof SoapFault ? failureOf(error.type, error.message) : error;
    } finally {
      await session.logOut();
    }
  }

  /** Exactly one: by its UUID, by its place in the inventory, or by its name. */
  async #find(session: SoapSession): Promise<Reference> {
    const uuid = /^(?:vsphere:\/\/)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.exec(this.#instance)?.[1];
    const found =
      uuid !== undefined
        ? await byUuid(session, uuid.toLowerCase())
        : this.#instance.startsWith('/')
          ? await byPath(session, this.#instance.slice(1))
          : await byName(session, this.#instance);
    const machines = found.filter(({ type }) => type === 'VirtualMachine');
    const [first, second] = machines;
    if (first === undefined) throw new Failure('refused', `there is no machine ${this.#instance}`);
    if (second !== undefined) {
      throw new Failure('refused', `there are ${machines.length} machines ${this.#instance}: write the path`);
    }
    return first;
  }
}

/** A node may know it in the other order of bytes. */
async function byUuid(session: SoapSession, uuid: string): Promise<readonly Reference[]> {
  for (const one of [uuid, firmwareOrder(uuid.replaceAll('-', ''))]) {
    const body = `<uuid>${one}</uuid><vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>`;
    const found = await session.call('FindAllByUuid', session.service('searchIndex'), body);
    if (found.length > 0) return found.map((element) => referenceIn(element));
  }
  return [];
}

async function byPath(session: SoapSession, path: string): Promise<readonly Reference[]> {
  const body = `<inventoryPath>${escapeXml(path)}</inventoryPath>`;
  const found = await session.call('FindByInventoryPath', session.service('searchIndex'), body);
  return found.map((element) => referenceIn(element));
}

/** There is no search by name: the names of all are read. */
async function byName(session: SoapSession, name: string): Promise<readonly Reference[]> {
  const root = session.reference('container', session.service('rootFolder'));
  const body = `${root}<type>VirtualMachine</type><recursive>true</recursive>`;
  const [created] = await session.call('CreateContainerView', session.service('viewManager'), body);
  if (created === undefined) throw new Failure('unknown', 'the machines cannot be listed');
  const traversal =
    '<selectSet xsi:type="TraversalSpec"><name>all</name><type>ContainerView</type><path>view</path><skip>false</skip></selectSet>';
  const spec = { type: 'VirtualMachine', paths: ['name'], from: referenceIn(created), traversal };
  const all = await retrieve(session, spec);
  return all
    .filter(({ read }) => [name, encodedName(name)].includes(textOf(read.get('name')) ?? ''))
    .map(({ object }) => object);
}

/** As the inventory writes what has a meaning in its paths. */
function encodedName(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2f').replaceAll('\\', '%5c');
}

interface Selection {
  type: string;
  paths: readonly string[];
  from: Reference;
  /** From there to the objects; absent: it is the object. */
  traversal?: string;
}

interface ReadObject {
  object: Reference;
  read: ReadonlyMap<string, XmlElement>;
}

async function retrieve(
  session: SoapSession,
  { type, paths, from, traversal }: Selection,
): Promise<readonly ReadObject[]> {
  const wanted = paths.map((path) => `<pathSet>${path}</pathSet>`).join('');
  const propSet = `<propSet><type>${escapeXml(type)}</type>${wanted}</propSet>`;
  const skip = `<skip>${traversal === undefined ? 'false' : 'true'}</skip>`;
  const objectSet = `<objectSet>${session.reference('obj', from)}${skip}${traversal ?? ''}</objectSet>`;
  const collector = session.service('propertyCollector');
  const all: ReadObject[] = [];
  let page = await session.call(
    'RetrievePropertiesEx',
    collector,
    `<specSet>${propSet}${objectSet}</specSet><options/>`,
  );
  for (let count = 0; count < PAGE_LIMIT; count += 1) {
    all.push(...page.flatMap((one) => elementsAt(one, 'objects')).map((one) => readObject(one)));
    const token = textAt(page[0], 'token');
    if (token === undefined || token === '') return all;
    page = await session.call('ContinueRetrievePropertiesEx', collector, `<token>${escapeXml(token)}</token>`);
  }
  throw new Failure('unknown', 'the list of machines does not end');
}

function readObject(element: XmlElement): ReadObject {
  const [object] = elementsAt(element, 'obj');
  const values = elementsAt(element, 'propSet').flatMap((property): [string, XmlElement][] => {
    const [value] = elementsAt(property, 'val');
    return value === undefined ? [] : [[textAt(property, 'name') ?? '', value]];
  });
  return { object: object === undefined ? { type: '', id: '' } : referenceIn(object), read: new Map(values) };
}

async function propertiesOf(
  session: SoapSession,
  object: Reference,
  paths: readonly string[],
): Promise<ReadonlyMap<string, XmlElement>> {
  const [found] = await retrieve(session, { type: object.type, paths, from: object });
  return found?.read ?? new Map<string, XmlElement>();
}

function textOf(element: XmlElement | undefined): string | undefined {
  return element?.text.trim();
}

function taskFailure(error: XmlElement | undefined): Failure {
  const [fault] = elementsAt(error, 'fault');
  return failureOf(
    fault === undefined ? '' : faultType(fault),
    textAt(error, 'localizedMessage') ?? 'no reason is given',
  );
}

function failureOf(type: string, message: string): Failure {
  return new Failure(nothingDone.includes(type) ? 'refused' : 'unknown', `${message} (${type})`, {
    isAboutState: type === 'InvalidPowerState',
  });
}

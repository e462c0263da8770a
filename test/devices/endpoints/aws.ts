/** EC2: moto, which checks every signature, and before it a door of ours that speaks TLS and in which the faults are. */
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { aws as cloud } from '../../../src/devices/clouds/aws.ts';
import type { DeviceParameters } from '../../../src/devices/device.ts';
import type { Endpoint, Machine, Subject, Variant } from '../endpoint.ts';
import { pythonWithEndpoints } from '../needs.ts';
import { cloudEndpoint, Faults, LineProcess, openDoor, SILENCE, type Asked, type Door, type Reply } from './cloud.ts';
import { Workshop } from './workshop.ts';

const canary = 'AwsCanary/1984+wJalrXUtnFEMI';

export interface Instance {
  id: string;
  zone: string;
  dns: string;
}

interface Started {
  port: number;
  keys: { fencing: string; reading: string };
  instances: [Instance, Instance, Instance, Instance];
}

export interface AwsEndpoint extends Endpoint {
  instances: Record<Machine | 'twin', Instance>;
  door: Door;
  parameters(machine: Machine, variant?: Variant & { key?: 'reading' }): DeviceParameters;
  /** As EC2 names it; a reason may follow. */
  setState(machine: Machine, state: string): Promise<void>;
  /** What the door was asked last, but for reading. */
  lastAction(): URLSearchParams;
}

/** Known only when it runs. */
const identity: Record<Machine, string> = { a: '', b: '' };

export async function startAws(): Promise<AwsEndpoint> {
  return Workshop.build(async (workshop) => {
    const program = join(import.meta.dirname, 'moto_ec2.py');
    const moto = new LineProcess(workshop.start(await pythonWithEndpoints(), [program]));
    const started = JSON.parse(await moto.ask(JSON.stringify({ secret: canary }))) as Started;
    const [a, b, twin] = started.instances;
    for (const [machine, { zone, id }] of Object.entries({ a, b }))
      identity[machine as Machine] = `aws:///${zone}/${id}`;
    const faults = new Faults();
    let last = new URLSearchParams();
    const door = await openDoor(workshop, async (asked) => {
      const form = new URLSearchParams(asked.body);
      const machine = (['a', 'b'] as const).find((one) => form.get('InstanceId.1') === { a, b }[one].id);
      const pass = (): Promise<Reply> => passOn(started.port, asked);
      if (machine === undefined) return pass();
      if (faults.of[machine] === 'hangs') return SILENCE;
      if (form.get('Action') === 'DescribeInstances') return pass();
      last = form;
      return spoiled(machine, form, { faults, pass });
    });
    const parameters: AwsEndpoint['parameters'] = (machine, variant = {}) => ({
      plain: {
        instance: { a, b }[variant.wiredTo ?? machine].id,
        region: 'eu-central-1',
        endpoint: door.url,
        ca: (variant.trust === 'missing' ? door.strangersCa : door.ca).replaceAll('\n', '\\n'),
      },
      secret: {
        access_key_id: started.keys[variant.key ?? 'fencing'],
        secret_access_key: variant.credential === 'wrong' ? canary.toLowerCase() : canary,
      },
    });
    const setState = async (machine: Machine, state: string): Promise<void> => {
      await moto.ask(`set ${{ a, b }[machine].id} ${state}`);
    };
    return {
      instances: { a, b, twin },
      door,
      parameters,
      setState,
      lastAction: () => last,
      ...cloudEndpoint(workshop, { cloud, faults, parameters }),
      power: async (machine) => ((await moto.ask(`get ${{ a, b }[machine].id}`)) === 'running' ? 'on' : 'off'),
      setPower: (machine, power) => setState(machine, power === 'on' ? 'running' : 'stopped'),
    };
  });
}

interface Spoiling {
  faults: Faults;
  pass: () => Promise<Reply>;
}

async function spoiled(machine: Machine, form: URLSearchParams, { faults, pass }: Spoiling): Promise<Reply> {
  const action = form.get('Action') ?? '';
  const taken = answer(
    200,
    `<${action}Response><instancesSet><item><instanceId>${form.get('InstanceId.1')}</instanceId></item></instancesSet></${action}Response>`,
  );
  // Its guest hangs: whoever asks it first waits in vain.
  if (action === 'StopInstances' && (form.get('Force') !== 'true' || form.get('SkipOsShutdown') !== 'true'))
    return taken;
  // Whom it turns away has not told it anything.
  faults.actions[machine] += 1;
  switch (faults.of[machine]) {
    case 'refuses':
      return errorAnswer(403, 'UnauthorizedOperation');
    case 'ignores':
      return taken;
    case 'late':
      faults.held[machine] = pass;
      return taken;
    case 'reportsFailure':
      await pass();
      return errorAnswer(500, 'InternalError');
    default: {
      const reply = await pass();
      if (reply.status !== 200) faults.actions[machine] -= 1;
      return reply;
    }
  }
}

function answer(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/xml' }, body: `<?xml version="1.0" encoding="UTF-8"?>${body}` };
}

function errorAnswer(status: number, code: string): Reply {
  const error = `<Error><Code>${code}</Code><Message>it is not to be</Message></Error>`;
  return answer(status, `<Response><Errors>${error}</Errors><RequestID>1</RequestID></Response>`);
}

function passOn(port: number, { method, url, rawHeaders, body }: Asked): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const path = `${url.pathname}${url.search}`;
    const asked = request({ host: '127.0.0.1', port, method, path, headers: [...rawHeaders], agent: false });
    asked.on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

export const aws: Subject = {
  name: 'EC2: our driver against moto over TLS',
  start: startAws,
  faults: ['refuses', 'hangs', 'ignores', 'late', 'reportsFailure'],
  identity,
  wrongCredential: 'refused',
  checksTrust: true,
  canary,
};

/** A session with vSphere: SOAP calls of `urn:vim25`, their faults, and the cookie that stands for the login. */
import type { HttpsAnswer } from '../http.ts';
import { Failure, type Turn } from './turn.ts';
import { elementsAt, escapeXml, parseXml, textAt, type XmlElement } from './xml.ts';

const API_VERSION = 'urn:vim25/6.5';

export interface Reference {
  type: string;
  id: string;
}

/** The service says no, in words of its own. */
export class SoapFault extends Error {
  override readonly name = 'SoapFault';
  /** Of the fault, without the ending `Fault`: `InvalidPowerState`. */
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

export interface Credentials {
  username: string;
  password: string;
}

export class SoapSession {
  readonly #turn: Turn;
  readonly #url: URL;
  readonly #credentials: Credentials;
  #cookie: string | undefined;
  #services: XmlElement | undefined;

  constructor(turn: Turn, url: URL, credentials: Credentials) {
    this.#turn = turn;
    this.#url = url;
    this.#credentials = credentials;
  }

  async logIn(): Promise<void> {
    this.#cookie = undefined;
    const root = { type: 'ServiceInstance', id: 'ServiceInstance' };
    const [services] = await this.#send('RetrieveServiceContent', root, '');
    this.#services = services;
    const { username, password } = this.#credentials;
    const body = `<userName>${escapeXml(username)}</userName><password>${escapeXml(password)}</password>`;
    try {
      await this.#send('Login', this.service('sessionManager'), body);
    } catch (error) {
      if (!(error instanceof SoapFault)) throw error;
      const isCredential = error.type === 'InvalidLogin';
      throw new Failure(
        isCredential || error.type === 'NoPermission' ? 'refused' : 'unknown',
        isCredential ? 'the credential is not accepted (InvalidLogin)' : `the login failed: ${error.message}`,
      );
    }
  }

  /** A vCenter takes only so many sessions, and keeps one that is left for half an hour. */
  async logOut(): Promise<void> {
    if (this.#cookie === undefined) return;
    await this.#send('Logout', this.service('sessionManager'), '').catch(() => []);
  }

  /** One of the service's own objects: `searchIndex`, `propertyCollector`. */
  service(name: string): Reference {
    const [found] = elementsAt(this.#services, name);
    if (found === undefined) throw new Failure('unknown', `the service has no ${name}`);
    return referenceIn(found);
  }

  /** Answers its `returnval`s. A session that has ended is replaced once. */
  async call(method: string, on: Reference, body = ''): Promise<readonly XmlElement[]> {
    try {
      return await this.#send(method, on, body);
    } catch (error) {
      if (!(error instanceof SoapFault) || error.type !== 'NotAuthenticated') throw error;
      await this.logIn();
      return this.#send(method, on, body);
    }
  }

  async #send(method: string, on: Reference, body: string): Promise<readonly XmlElement[]> {
    const element = `<${method} xmlns="urn:vim25">${this.reference('_this', on)}${body}</${method}>`;
    const answer = await this.#turn.call({
      method: 'POST',
      url: this.#url,
      headers: {
        'content-type': 'text/xml; charset=utf-8',
        soapaction: `"${API_VERSION}"`,
        ...(this.#cookie !== undefined && { cookie: this.#cookie }),
      },
      body: `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>${element}</soapenv:Body></soapenv:Envelope>`,
    });
    this.#keepCookie(answer);
    const [result] = elementsAt(parseXml(answer.body), 'Body').flatMap(({ children }) => children);
    if (result?.name === 'Fault') throw faultIn(result);
    if (answer.status === 200 && result?.name === `${method}Response`) return elementsAt(result, 'returnval');
    const kind = answer.status === 401 || answer.status === 403 || answer.status === 404 ? 'refused' : 'unknown';
    throw new Failure(kind, `the answer to ${method} cannot be read (status ${answer.status})`);
  }

  reference(name: string, { type, id }: Reference): string {
    return `<${name} type="${escapeXml(type)}">${escapeXml(id)}</${name}>`;
  }

  #keepCookie({ cookies }: HttpsAnswer): void {
    const session = cookies.find((cookie) => cookie.startsWith('vmware_soap_session='))?.split(';')[0];
    if (session === undefined) return;
    this.#turn.hide(session.slice(session.indexOf('=') + 1).replaceAll('"', ''));
    this.#cookie = session;
  }
}

export function referenceIn(element: XmlElement): Reference {
  return { type: element.attributes['type'] ?? '', id: element.text.trim() };
}

/** Its kind is the name of its element in one version, and an attribute of it in another. */
function faultIn(fault: XmlElement): SoapFault {
  const [detail] = elementsAt(fault, 'detail').flatMap(({ children }) => children);
  const message = textAt(fault, 'faultstring') ?? '';
  return new SoapFault(detail === undefined ? '' : faultType(detail), message === '' ? 'no reason is given' : message);
}

export function faultType({ name, attributes }: XmlElement): string {
  const type = Object.entries(attributes).find(([attribute]) => /(?:^|:)type$/.test(attribute))?.[1];
  return type === undefined ? name.replace(/(?<=.)Fault$/, '') : type.slice(type.indexOf(':') + 1);
}

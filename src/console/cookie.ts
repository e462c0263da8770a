/** The one cookie of the console: no script reads it, and no other site sends it. */
import type { IncomingMessage } from 'node:http';

const name = 'fenceline-console';
const lastsSeconds = 8 * 3600;

export function cookieOf({ headers }: IncomingMessage): string | undefined {
  const all = (headers.cookie ?? '').split(';').map((one) => one.trim());
  return all.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
}

export function cookieWith(value: string, { isSecure }: { isSecure: boolean }): string {
  const life = value === '' ? 0 : lastsSeconds;
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${isSecure ? '; Secure' : ''}`;
}

/** Only makes a pool. Prints "ready" when it has. */
import { Pool } from 'undici';

const pool = new Pool('https://127.0.0.1:1', { connections: 1 });
console.log('ready', pool.closed === false);
setInterval(() => {}, 60_000);

/** Answers somebody who has something rehearsed: what is told meanwhile, one line of JSON each, until the end. Whoever leaves ends it. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { RehearsalNews } from './picture.ts';
import type { RehearsalRequest, Rehearsals } from './rehearsals.ts';
import { wishOf } from './rehearsal-wish.ts';
import { readBody } from './request-body.ts';

/** A policy with every letter of it escaped. */
const maxBytes = 65_536;

export interface RehearsalAnswer {
  rehearsals: Rehearsals;
  person: object;
  read: RehearsalRequest['read'];
  request: IncomingMessage;
  response: ServerResponse;
  headers: OutgoingHttpHeaders;
  clock: Clock;
}

/** A refusal, where nothing has been sent yet. */
export async function answerRehearsal(options: RehearsalAnswer): Promise<{ status: number; text: string } | undefined> {
  const { rehearsals, person, read, request, response, headers, clock } = options;
  const body = await readBody(request, clock, maxBytes);
  if (!body.ok) return body;
  const parsed = wishOf(body.value);
  if (!parsed.ok) return { status: 400, text: parsed.text };
  const left = new AbortController();
  response.once('close', () => left.abort());
  response.writeHead(200, { ...headers, 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  const say = (news: RehearsalNews): void => {
    if (!response.destroyed) response.write(`${JSON.stringify(news)}\n`);
  };
  await rehearsals.run({ person, wish: parsed.wish, read, say, signal: left.signal });
  response.end();
  return undefined;
}

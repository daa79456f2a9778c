import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** An SMTP server on 127.0.0.1 that keeps the messages that it receives, with their headers. */
export interface MailSink {
  readonly port: number;
  readonly messages: readonly string[];
  close(): Promise<void>;
}

export async function startMailSink(): Promise<MailSink> {
  const messages: string[] = [];
  const server = createServer((socket) => receive(socket, messages));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, messages, close: () => closed(server) };
}

function receive(socket: Socket, messages: string[]): void {
  let [buffered, isData] = ['', false];
  socket.on('error', () => socket.destroy());
  socket.write('220 sink\r\n');
  socket.on('data', (piece: Buffer) => {
    buffered += piece.toString();
    for (;;) {
      const end = isData ? '\r\n.\r\n' : '\r\n';
      const at = buffered.indexOf(end);
      if (at < 0) return;
      const text = buffered.slice(0, at);
      buffered = buffered.slice(at + end.length);
      if (isData) messages.push(text);
      const command = isData ? '' : text.slice(0, 4).toUpperCase();
      isData = command === 'DATA';
      socket.write(isData ? '354 go on\r\n' : command === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
      if (command === 'QUIT') socket.end();
    }
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

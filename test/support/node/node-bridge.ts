import { spawn, type ChildProcess } from 'node:child_process';
import { connect, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { listen, type BridgeAnswer, type BridgeRequest } from './relay.ts';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Forwards TCP between the host's loopback and the network namespace of a process, which have no other way to each other. */
export class NodeBridge {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #servers: Server[] = [];
  #lastId = 0;

  /** @param directory where its sockets lie @param pid a process of the network namespace */
  constructor(directory: string, pid: number) {
    this.#directory = directory;
    const program = join(import.meta.dirname, 'bridge.ts');
    this.#child = spawn('nsenter', ['--target', String(pid), '--net', '--', process.execPath, program], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on('message', (answer: BridgeAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error === undefined) waiting?.resolve();
      else waiting?.reject(new Error(`the node's network: ${answer.error}`));
    });
    this.#child.once('error', (error) => this.#fail(error));
    this.#child.once('exit', () => this.#fail(new Error("the process in the node's network has ended")));
  }

  /** Listens on `host:port` of the node and forwards to that port of the host's 127.0.0.1. */
  async toHost(host: string, port: number, hostPort: number): Promise<void> {
    const path = this.#socketPath();
    this.#servers.push(
      await listen({ path }, () => connect({ host: '127.0.0.1', port: hostPort, allowHalfOpen: true })),
    );
    await this.#ask({ direction: 'to-host', host, port, path });
  }

  /** Listens on a free port of the host's 127.0.0.1 and forwards to `host:port` of the node. @returns the port */
  async toNode(host: string, port: number): Promise<number> {
    const path = this.#socketPath();
    await this.#ask({ direction: 'to-node', host, port, path });
    const server = await listen({ host: '127.0.0.1', port: 0 }, () => connect({ path, allowHalfOpen: true }));
    server.unref();
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  close(): void {
    for (const server of this.#servers) server.close();
    if (this.#child.connected) this.#child.disconnect();
  }

  #socketPath(): string {
    this.#lastId++;
    return join(this.#directory, `bridge-${this.#lastId}.sock`);
  }

  #ask(request: Omit<BridgeRequest, 'id'>): Promise<void> {
    // Several requests may be pending, each with its own number.
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ ...request, id }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #fail(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

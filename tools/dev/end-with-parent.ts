// Preloaded into a program that `make run` starts. Stdin is a pipe from the parent: when it closes, the parent has exited, and so does the program.
import type { Socket } from 'node:net';

function end(): void {
  process.kill(process.pid, 'SIGTERM');
}
const stdin = process.stdin as unknown as Socket;
stdin.on('end', end).on('error', end).resume();
// The pipe alone must not keep the process alive.
stdin.unref();

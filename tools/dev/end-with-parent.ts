// Preloaded into a program that `make run` starts: stdin is a pipe from the parent, and its end means that the parent is gone, however it went.
import type { Socket } from 'node:net';

function end(): void {
  process.kill(process.pid, 'SIGTERM');
}
const stdin = process.stdin as unknown as Socket;
stdin.on('end', end).on('error', end).resume();
// The pipe alone must not keep a program alive that has come to its end.
stdin.unref();

// Preloaded into a program that `make run` starts: stdin is a pipe from the parent, and its end means that the parent is gone, however it went.
process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.resume();

// Loaded into a process by `node --import`. At SIGUSR2, callbacks throw in all ways that nothing handles, such as defects of libraries would.
import { EventEmitter } from 'node:events';

process.on('SIGUSR2', () => {
  setTimeout(() => {
    throw new Error('thrown in a timer');
  }, 0);
  setImmediate(() => new EventEmitter().emit('error', new Error('an error event')));
  queueMicrotask(() => {
    throw Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('a getter that throws');
      },
    });
  });
  process.nextTick(() => {
    throw undefined;
  });
  void Promise.reject(new Error('rejected'));
  void Promise.reject(Symbol('not an error'));
});

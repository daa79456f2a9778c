import { NODE_OPTIONS } from './node-options.ts';
import { NODE_IN_IMAGE, USER } from './root-file-system.ts';

/** How the image starts: the same as in the Containerfile, whose base has the PATH. */
export const IMAGE_CONFIG = {
  Entrypoint: [NODE_IN_IMAGE, '/app/dist/main.js'],
  Cmd: ['gateway'],
  User: `${USER}:${USER}`,
  WorkingDir: '/app',
  Env: ['PATH=/nodejs/bin', 'NODE_ENV=production', `NODE_OPTIONS=${NODE_OPTIONS.join(' ')}`],
  ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
};

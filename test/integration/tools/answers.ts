// The program of the pods in the tests of the node: responds to every request with the name of its pod.
import { createServer } from 'node:http';
import { hostname } from 'node:os';

createServer((_request, response) => response.end(hostname())).listen(8080, () => {
  process.stdout.write('listening on 8080\n');
});

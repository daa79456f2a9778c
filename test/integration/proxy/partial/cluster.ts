import { sharedPinot, startPinot, type PinotClient } from '../../../support/pinot.ts';
import { freePorts } from '../../../support/kubernetes/processes.ts';

/** A Pinot with both of its engines: that in `TEST_CONTROLLER`, else one of its own. */
export async function pinotOfBothEngines(): Promise<{
  readonly pinot: PinotClient;
  readonly stop: () => Promise<void>;
}> {
  if (process.env['TEST_CONTROLLER']) return { pinot: await sharedPinot(), stop: async () => undefined };
  const [ofBroker, ofServer, queries] = (await freePorts(3)) as [number, number, number];
  // The ports of the multi-stage engine are properties, so that there is one instance of each role.
  const engine = (port: number) => ({
    'pinot.multistage.engine.enabled': 'true',
    'pinot.query.runner.hostname': '127.0.0.1',
    'pinot.query.runner.port': String(port),
  });
  const pinot = await startPinot({
    servers: 1,
    properties: {
      broker: engine(ofBroker),
      server: {
        ...engine(ofServer),
        'pinot.query.server.port': String(queries),
        'pinot.server.instance.currentDataTableVersion': '4',
      },
    },
  });
  return { pinot, stop: () => pinot.stop() };
}

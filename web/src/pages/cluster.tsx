import type { JSX } from 'preact';
import { MasterDetail } from '../components/master-detail.tsx';
import { Tabs, type Tab } from '../components/tabs.tsx';
import { call } from '../lib/api.ts';
import { useMay } from '../lib/session.ts';
import type { InstanceNames, TableNames } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { InstanceDetail } from './cluster/instance-detail.tsx';
import { TableDetail } from './cluster/table-detail.tsx';

function TablesTab(): JSX.Element {
  const { value, error, reload } = useData('tables', (signal) => call<TableNames>('/tables', { signal }));
  return (
    <MasterDetail
      what="Tables"
      one="table"
      list={{ value: value?.tables.toSorted(), error, reload }}
      item={(name) => ({ name, note: undefined })}
      detail={(name) => <TableDetail key={name} name={name} />}
    />
  );
}

function InstancesTab(): JSX.Element {
  const { value, error, reload } = useData('instances', (signal) => call<InstanceNames>('/instances', { signal }));
  return (
    <MasterDetail
      what="Instances"
      one="instance"
      list={{ value: value?.instances.toSorted(), error, reload }}
      item={(name) => ({ name, note: undefined })}
      detail={(name) => <InstanceDetail key={name} name={name} />}
    />
  );
}

const TABLES: Tab = { id: 'tables', label: 'Tables', body: TablesTab };
const INSTANCES: Tab = { id: 'instances', label: 'Instances', body: InstancesTab };

/** What is known of each table and each instance. */
export function ClusterPage(): JSX.Element {
  const tabs = useMay('GetInstance') ? [TABLES, INSTANCES] : [TABLES];
  return (
    <>
      <h1>Cluster</h1>
      <Tabs path="/cluster" label="Kinds" tabs={tabs} first="tables" />
    </>
  );
}

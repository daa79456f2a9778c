interface Query {
  readonly expr: string;
  readonly legend: string;
  readonly instant?: boolean;
}

export interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'table' | 'timeseries' | 'state-timeline';
  /** Width in columns, of 24. */
  readonly width: number;
  readonly height: number;
  readonly unit?: string;
  readonly queries: readonly Query[];
  /** Colour by value. */
  readonly thresholds?: readonly { readonly value: number | null; readonly color: string }[];
  readonly mappings?: Readonly<Record<string, { readonly text: string; readonly color: string }>>;
}

/** Selects the series of the chosen namespaces and clusters. The processes of the operator belong to no cluster. */
export const SCOPE = 'namespace=~"$namespace",cluster=~"$cluster|"';

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const COLUMNS = 24;

function fieldConfig(panel: Panel): object {
  const mappings = Object.entries(panel.mappings ?? {}).map(([value, result]) => ({
    type: 'value',
    options: { [value]: result },
  }));
  return {
    defaults: {
      ...(panel.unit === undefined ? {} : { unit: panel.unit }),
      ...(panel.thresholds === undefined ? {} : { thresholds: { mode: 'absolute', steps: panel.thresholds } }),
      mappings,
    },
    overrides: [],
  };
}

function layOut(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  let id = 1;
  for (const row of rows) {
    panels.push({
      id: id++,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) {
        y += height;
        x = 0;
        height = 0;
      }
      panels.push({
        id: id++,
        type: panel.type,
        title: panel.title,
        datasource: { type: 'prometheus', uid: '${datasource}' },
        gridPos: { x, y, w: panel.width, h: panel.height },
        fieldConfig: fieldConfig(panel),
        options:
          panel.type === 'timeseries'
            ? { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
            : {},
        targets: panel.queries.map((query, index) => ({
          refId: String.fromCharCode(65 + index),
          expr: query.expr,
          legendFormat: query.legend,
          instant: query.instant === true,
          range: query.instant !== true,
        })),
      });
      x += panel.width;
      height = Math.max(height, panel.height);
    }
    y += height;
  }
  return panels;
}

/** What distinguishes a dashboard. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

function variable(name: string, query: string): object {
  return {
    name,
    type: 'query',
    datasource: { type: 'prometheus', uid: '${datasource}' },
    query: { query, refId: name },
    refresh: 2,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  };
}

/** The dashboard as Grafana imports it, as JSON. */
export function grafanaDashboard({ uid, title, description, rows }: Dashboard): string {
  const dashboard = {
    uid,
    title,
    description,
    tags: ['olap-warden', 'pinot'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: '',
    refresh: '1m',
    time: { from: 'now-24h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', current: {}, hide: 0 },
        variable('namespace', 'label_values(olap_warden_info, namespace)'),
        variable('cluster', 'label_values(olap_warden_health_checks_failed{namespace=~"$namespace"}, cluster)'),
      ],
    },
    annotations: { list: [] },
    panels: layOut(rows),
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

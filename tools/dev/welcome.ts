export interface WelcomeOptions {
  readonly url: string;
  readonly metricsUrl: string;
  readonly tokenFile: string;
  readonly logFile: string;
  readonly controllerUrl: string;
  /** A table for the pagination example, and a column to order by, if known. */
  readonly table: { readonly name: string; readonly orderBy?: string } | undefined;
  /** Whether the cluster is the sample, which `make break` can break. */
  readonly sample: boolean;
}

/** Quotes a text for a shell. */
function quote(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The example commands. Each is one line for a POSIX shell and can be repeated. */
export function curlLines(options: WelcomeOptions): string[] {
  const { url, table } = options;
  const authorization = `-H "Authorization: Bearer $(cat ${quote(options.tokenFile)})"`;
  const json = "-H 'Content-Type: application/json'";
  const lines = [
    String.raw`curl -sS ${authorization} ${json} -d "{\"name\":\"team-$(date +%s)\",\"description\":\"my first role\"}" ${url}/api/v1/rbac-manager/roles`,
    `curl -sS ${authorization} ${url}/clusterHealth`,
  ];
  if (table !== undefined) {
    const order = table.orderBy === undefined ? '' : ` ORDER BY ${table.orderBy}`;
    const sql = `{"sql":"SELECT * FROM ${table.name}${order} LIMIT 1000"}`;
    const first = `curl -sS ${authorization} ${json} -d '${sql}' '${url}/query/sql?doPaginate=true&numRows=5'`;
    const id = String.raw`id=$(${first} | sed 's/.*"requestId":"\([^"]*\)".*/\1/')`;
    lines.push(`${id}; curl -sS ${authorization} "${url}/query/$id/results?offset=5&numRows=5"`);
  }
  return lines;
}

/** The output of `make run` when everything is ready. */
export function welcome(options: WelcomeOptions): string {
  const [role, health, page] = curlLines(options);
  return `
olap-warden is ready

  dashboard        ${options.url}/ui/
  REST, SQL        ${options.url}           (documented at ${options.url}/docs)
  metrics, probes  ${options.metricsUrl}/metrics, /livez, /readyz
  Pinot controller ${options.controllerUrl}
  admin token      ${options.tokenFile}
  log              ${options.logFile}

Create a role:
${role}

Read the health report:
${health}
${page === undefined ? '' : `\nPage through a query (submits it, then reads its second page):\n${page}\n`}
${options.sample ? '`make break` in another terminal makes the report red, and `make mend` green again.\n' : ''}Ctrl-C stops everything.
`;
}

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { downloadBlob } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { messageOfError } from '../../lib/api.ts';
import { bytes, whole } from '../../lib/format.ts';
import { ResultDownload, type DownloadFormat, type Progress, type ResultToDownload } from './result-download.ts';

const FORMATS: readonly { format: DownloadFormat; label: string; extension: string }[] = [
  { format: 'csv', label: 'CSV', extension: 'csv' },
  { format: 'jsonl', label: 'JSON lines', extension: 'jsonl' },
  { format: 'arrow', label: 'Arrow', extension: 'arrows' },
  { format: 'parquet', label: 'Parquet', extension: 'parquet' },
];

interface RunningDownload {
  readonly label: string;
  readonly file: string;
  readonly download: ResultDownload;
}

function progressText({ received, total, rows }: Progress): string {
  const of = total === undefined ? '' : ` of ${bytes(total)}`;
  return `${bytes(received)}${of}${rows === undefined ? '' : ` · ${whole(rows)} rows`}`;
}

function Bar(props: { label: string; progress: Progress | undefined; onCancel: () => void }): JSX.Element {
  const { label, progress } = props;
  const share = progress?.total === undefined ? {} : { max: progress.total, value: progress.received };
  return (
    <div class="running">
      <span>Downloading {label}</span>
      <progress aria-label={`Download as ${label}`} {...share} />
      <span class="download-progress">{progress ? progressText(progress) : 'waiting for the gateway'}</span>
      <button type="button" onClick={props.onCancel}>
        Cancel download
      </button>
    </div>
  );
}

interface DownloadState {
  readonly running: RunningDownload | undefined;
  readonly progress: Progress | undefined;
  readonly error: string | undefined;
  /** How the last download ended. */
  readonly notice: string | undefined;
  readonly start: (format: (typeof FORMATS)[number]) => void;
  /** Goes on after a failure. */
  readonly proceed: (job: RunningDownload) => void;
  readonly stop: (notice: string | undefined) => void;
}

/** One download at a time, which ends when the page is left. */
function useDownload(result: ResultToDownload): DownloadState {
  const [running, setRunning] = useState<RunningDownload>();
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<string>();
  const [notice, setNotice] = useState<string>();
  const current = useRef<ResultDownload | undefined>(undefined);
  useEffect(() => () => current.current?.cancel(), []);
  const proceed = async (job: RunningDownload): Promise<void> => {
    setError(undefined);
    setNotice(undefined);
    try {
      const blob = await job.download.run();
      downloadBlob(job.file, blob);
      setNotice(`${job.file} is complete: ${bytes(blob.size)}.`);
      setRunning(undefined);
    } catch (failure) {
      if (current.current === job.download) setError(messageOfError(failure));
    }
  };
  const start: DownloadState['start'] = ({ format, label, extension }) => {
    const download = new ResultDownload(result, format, setProgress);
    current.current = download;
    const job = { label, file: `${result.requestId}.${extension}`, download };
    setProgress(undefined);
    setRunning(job);
    void proceed(job);
  };
  const stop = (text: string | undefined): void => {
    current.current?.cancel();
    current.current = undefined;
    setRunning(undefined);
    setError(undefined);
    setNotice(text);
  };
  return { running, progress, error, notice, start, proceed: (job) => void proceed(job), stop };
}

function Formats(props: { result: ResultToDownload; state: DownloadState }): JSX.Element {
  const { requestId, numRows } = props.result;
  const { start, notice } = props.state;
  const path = `/query/${encodeURIComponent(requestId)}/results?format=csv`;
  return (
    <div class="row">
      <span class="muted">Download {numRows === 1 ? 'the row' : `all ${whole(numRows)} rows`} as</span>
      {FORMATS.map((format) => (
        <button type="button" class="small" key={format.format} onClick={() => start(format)}>
          {format.label}
        </button>
      ))}
      <CopyAs call={{ method: 'GET', path }} />
      {notice !== undefined && <span role="status">{notice}</span>}
    </div>
  );
}

function FailedDownload(props: { job: RunningDownload; state: DownloadState }): JSX.Element {
  const { job, state } = props;
  return (
    <>
      <ErrorNote message={state.error} />
      <div class="row">
        <button type="button" onClick={() => state.proceed(job)}>
          {job.download.canResume ? `Resume after ${bytes(state.progress?.received ?? 0)}` : 'Begin again'}
        </button>
        <button type="button" onClick={() => state.stop(undefined)}>
          Close
        </button>
      </div>
    </>
  );
}

/** Downloads all rows of a result, with progress. */
export function Downloads(props: { result: ResultToDownload }): JSX.Element {
  const state = useDownload(props.result);
  const { running, error, progress } = state;
  const group = useRef<HTMLDivElement>(null);
  const used = useRef(false);
  used.current ||= running !== undefined;
  // The pressed button is gone: keep the focus here.
  useLayoutEffect(() => {
    if (used.current && document.activeElement === document.body) group.current?.focus();
  }, [running, error]);
  return (
    <div role="group" aria-label="Download" ref={group} tabIndex={-1}>
      {running === undefined && <Formats result={props.result} state={state} />}
      {running && error === undefined && (
        <Bar label={running.label} progress={progress} onCancel={() => state.stop('The download was cancelled.')} />
      )}
      {running && error !== undefined && <FailedDownload job={running} state={state} />}
    </div>
  );
}

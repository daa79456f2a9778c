import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CopyButton, downloadBlob, ErrorNote } from '../../components/basics.tsx';
import { messageOfError } from '../../lib/api.ts';
import { curlOf } from '../../lib/copy.ts';
import { bytes, whole } from '../../lib/format.ts';
import { ResultDownload, type DownloadFormat, type Progress, type ResultToDownload } from './result-download.ts';

const FORMATS: readonly { format: DownloadFormat; label: string; extension: string }[] = [
  { format: 'csv', label: 'CSV', extension: 'csv' },
  { format: 'jsonl', label: 'JSON lines', extension: 'jsonl' },
  { format: 'arrow', label: 'Arrow', extension: 'arrows' },
  { format: 'parquet', label: 'Parquet', extension: 'parquet' },
];

interface Running {
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

/** Downloads all rows of a result, with progress. */
export function Downloads(props: { result: ResultToDownload }): JSX.Element {
  const { requestId, numRows } = props.result;
  const [running, setRunning] = useState<Running>();
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<string>();
  const [notice, setNotice] = useState<string>();
  const current = useRef<ResultDownload | undefined>(undefined);
  const group = useRef<HTMLDivElement>(null);
  useEffect(() => () => current.current?.cancel(), []);
  // The pressed button is gone: keep the focus here.
  useLayoutEffect(() => {
    if (current.current !== undefined && document.activeElement === document.body) group.current?.focus();
  }, [running, error]);

  const proceed = async (job: Running): Promise<void> => {
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
  const start = ({ format, label, extension }: (typeof FORMATS)[number]): void => {
    const download = new ResultDownload(props.result, format, setProgress);
    current.current = download;
    const job = { label, file: `${requestId}.${extension}`, download };
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
  return (
    <div role="group" aria-label="Download" ref={group} tabIndex={-1}>
      {running === undefined && (
        <div class="row">
          <span class="muted">Download {numRows === 1 ? 'the row' : `all ${whole(numRows)} rows`} as</span>
          {FORMATS.map((format) => (
            <button type="button" class="small" key={format.format} onClick={() => start(format)}>
              {format.label}
            </button>
          ))}
          <CopyButton
            label="Copy as curl"
            text={() =>
              curlOf(
                { method: 'GET', path: `/query/${encodeURIComponent(requestId)}/results?format=csv` },
                location.origin,
              )
            }
          />
          {notice !== undefined && <span role="status">{notice}</span>}
        </div>
      )}
      {running && error === undefined && (
        <Bar label={running.label} progress={progress} onCancel={() => stop('The download was cancelled.')} />
      )}
      {running && error !== undefined && (
        <>
          <ErrorNote message={error} />
          <div class="row">
            <button type="button" onClick={() => void proceed(running)}>
              {running.download.canResume ? `Resume after ${bytes(progress?.received ?? 0)}` : 'Begin again'}
            </button>
            <button type="button" onClick={() => stop(undefined)}>
              Close
            </button>
          </div>
        </>
      )}
    </div>
  );
}

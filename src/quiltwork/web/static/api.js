// The JSON interface for pages: requests, refusals, and jobs with progress.

/** What the service refused: `content` is the object that the command prints with --json. */
export class Refused extends Error {
  constructor(content, status) {
    super(content.error || "the service gave no reason.");
    this.content = content;
    this.status = status;
    this.kind = content.kind || "";
  }
}

const LOST = { error: "the service cannot be reached. Is `quiltwork serve` still running?", kind: "network", exit_code: 2 };

async function fetched(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused(LOST, 0);
  }
  if (response.status === 204) return [response, null];
  let content;
  try {
    content = await response.json();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refused({ error: "the service answered with something else than JSON.", kind: "internal" }, response.status);
  }
  if (!response.ok) throw new Refused(content, response.status);
  return [response, content];
}

function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/**
 * Ask the service. With `content` it is a POST of JSON, else a GET.
 *
 * Work that takes longer than `wait` seconds becomes a job: it is followed to its end, and `onJob` is told
 * `{job, phase, progress, cancel}` again and again. Returns the result; `onDone(id)` is told the job's id, whose files
 * are at /api/jobs/{id}/files/. Throws Refused.
 */
export async function ask(path, content, { query = {}, wait = 0.8, signal, onJob, onDone } = {}) {
  const options = content === undefined ? { signal } : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
  };
  const [response, answer] = await fetched(address(path, { wait, ...query }), options);
  if (response.status !== 202) {
    const id = response.headers.get("X-Quiltwork-Job");
    if (id && onDone) onDone(id);
    return answer;
  }
  const done = await followed(answer, { signal, onJob });
  if (onDone) onDone(done.job);
  if (done.result !== undefined) return done.result;
  throw new Refused(done.refusal || { error: "the job was cancelled.", kind: "cancelled" }, 409);
}

/** Ask without a job: for what is answered at once. */
export async function get(path, query) {
  return (await fetched(address(path, query), {}))[1];
}

export async function remove(path) {
  return (await fetched(path, { method: "DELETE" }))[1];
}

export const cancel = (id) => remove(`/api/jobs/${encodeURIComponent(id)}`);

/** Send a file; returns `{upload, name, bytes}`. */
export async function upload(file, { signal } = {}) {
  const options = { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" }, signal };
  return (await fetched(address("/api/uploads", { name: file.name }), options))[1];
}

function followed(job, { signal, onJob }) {
  const where = `/api/jobs/${encodeURIComponent(job.job)}`;
  return new Promise((resolve, reject) => {
    const tell = (now) => onJob && onJob({ ...now, cancel: () => cancel(job.job) });
    const events = new EventSource(`${where}/events`);
    const end = (act, value) => { events.close(); act(value); };
    tell(job);
    events.addEventListener("progress", (event) => tell(JSON.parse(event.data)));
    events.addEventListener("end", (event) => end(resolve, JSON.parse(event.data)));
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) {
        get(where).then((now) => ("result" in now || "refusal" in now ? end(resolve, now) : end(reject, new Refused(LOST, 0))),
          (problem) => end(reject, problem));
      }
    };
    if (signal) {
      signal.addEventListener("abort", () => {
        cancel(job.job).catch(() => {});
        end(reject, new DOMException("no longer wanted", "AbortError"));
      });
    }
  });
}

/**
 * Requests of which only the last counts: each new one makes the page forget the one before.
 * `run(work)` calls `work(signal)` and resolves to its result, or to undefined if a later one came.
 */
export function latest() {
  let current = null;
  return {
    async run(work) {
      if (current) current.abort();
      const own = current = new AbortController();
      try {
        const result = await work(own.signal);
        return own === current ? result : undefined;
      } catch (problem) {
        if (own !== current || problem.name === "AbortError" || problem.kind === "replaced") return undefined;
        throw problem;
      }
    },
  };
}
